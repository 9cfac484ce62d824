"""The learning rate, by hand."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.training import RunConfig
from ordinate.training.schedule import rate

from .runs import small

TEN = dict(steps=10, lr=1.0, warmup=0.2)  # two steps of warm-up, eight that follow


BASE = small()


def rates(config: RunConfig) -> list[float]:
    return [rate(config, step) for step in range(config.steps)]


@pytest.mark.parametrize(
    ("schedule", "after"),
    [
        ("constant", [1.0] * 8),
        ("linear", [1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]),
        ("cosine", [1, 0.96194, 0.853553, 0.691342, 0.5, 0.308658, 0.146447, 0.03806]),
        ("wsd", [1] * 4 + [1 - (i / 5) ** 0.5 for i in (1, 2, 3, 4)]),
    ],
)
def test_ten_steps_by_hand(schedule: str, after: list[float]) -> None:
    found = rates(small(schedule=schedule, **(dict(decay=0.4) if schedule == "wsd" else {}), **TEN))
    assert found == pytest.approx([1 / 3, 2 / 3, *after], abs=1e-6)


@settings(deadline=None, max_examples=60)
@given(
    schedule=st.sampled_from(["cosine", "linear", "constant", "wsd"]),
    steps=st.integers(1, 300),
    warmup=st.floats(0, 1),
    decay=st.floats(0, 1),
)
def test_it_rises_and_then_never_again_and_is_never_zero(
    schedule: str, steps: int, warmup: float, decay: float
) -> None:
    changes = dict(schedule=schedule, steps=steps, lr=0.5, warmup=warmup, decay=decay * (1 - warmup))
    config = replace(BASE, **changes)
    found, warm = rates(config), round(warmup * steps)
    assert all(0 < value <= 0.5 for value in found)
    assert found[:warm] == sorted(set(found[:warm]))
    assert found[warm:] == sorted(found[warm:], reverse=True)
    if warm < steps and (schedule != "wsd" or round(config.decay * steps) <= steps - warm - 1):
        assert found[warm] == 0.5
