"""The learning rate and the end of a run, by hand."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.training import RunConfig
from ordinate.training.optimizer import ending, task_schedule

from .runs import small

TEN = dict(steps=10, lr=1.0, warmup=2)  # two steps of warm-up, eight that follow


BASE = small()


def rates(config: RunConfig, learned: int | None = None) -> list[float]:
    return [task_schedule(config, learned).rate(step) for step in range(ending(config, learned)[1])]


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
    config = small(schedule=schedule, budget="fixed", **(dict(decay=0.4) if schedule == "wsd" else {}), **TEN)
    assert rates(config) == pytest.approx([1 / 3, 2 / 3, *after], abs=1e-6)
    assert [task_schedule(config, 4).rate(step) for step in range(10)] == rates(
        config
    )  # what is learned changes no fixed budget


def test_until_it_is_learned_the_rate_stays_and_then_falls_to_the_end() -> None:
    """A budget of 1000: learned at 300, it ends at 600; never learned, the last fifth decays."""
    config = small(steps=1000, lr=1.0, warmup=4)
    warm = [1 / 5, 2 / 5, 3 / 5, 4 / 5]
    learned = rates(config, 300)
    assert learned == pytest.approx([*warm, *[1.0] * 296, *(1 - (i / 301) ** 0.5 for i in range(1, 301))])
    never = rates(config)
    assert never == pytest.approx([*warm, *[1.0] * 796, *(1 - (i / 201) ** 0.5 for i in range(1, 201))])
    assert learned[:300] == never[:300]  # what came before does not know what will come


@pytest.mark.parametrize(
    ("learned", "begin", "end"),
    [
        (None, 800, 1000),
        (10, 50, 150),  # not inside the warm-up of 50, and at least 100 steps of decay
        (50, 50, 150),
        (99, 99, 199),
        (100, 100, 200),
        (101, 101, 202),  # as long again
        (400, 400, 800),
        (500, 500, 1000),
        (501, 501, 1000),  # within the budget
        (799, 799, 1000),
        (800, 800, 1000),  # where it decays anyway
        (900, 800, 1000),  # learned inside the last fifth changes nothing
        (1000, 800, 1000),
    ],
)
def test_where_the_decay_begins_and_the_run_ends(learned: int | None, begin: int, end: int) -> None:
    assert ending(small(steps=1000), learned) == (begin, end)
    assert ending(small(steps=1000, budget="fixed", schedule="wsd"), learned) == (800, 1000)


@pytest.mark.parametrize("learned", [800, 850, 1000])
def test_learned_in_the_last_fifth_changes_no_rate(learned: int) -> None:
    config = small(steps=1000)
    assert rates(config, learned) == rates(config)


def test_a_small_budget_has_room_for_no_more_than_itself() -> None:
    assert ending(small(steps=60), 20) == (20, 60)
    assert ending(small(steps=1), None)[1] == ending(small(steps=1), 1)[1] == 1


@settings(deadline=None, max_examples=60)
@given(
    schedule=st.sampled_from(["cosine", "linear", "constant", "wsd"]),
    steps=st.integers(1, 300),
    warmup=st.floats(0, 1),
    decay=st.floats(0, 1),
    learned=st.one_of(st.none(), st.floats(0, 1)),
)
def test_it_rises_and_then_never_again_and_is_never_zero(
    schedule: str, steps: int, warmup: float, decay: float, learned: float | None
) -> None:
    warm = int(warmup * steps)
    changes = dict(schedule=schedule, steps=steps, lr=0.5, warmup=warm, decay=decay * (1 - warm / steps))
    config = replace(BASE, budget="learned" if schedule == "wsd" else "fixed", **changes)
    at = None if learned is None else warm + round(learned * (steps - warm))
    found = rates(config, at)
    assert all(0 < value <= 0.5 for value in found)
    assert found[:warm] == sorted(set(found[:warm]))
    assert found[warm:] == sorted(found[warm:], reverse=True)
    if warm < steps and (schedule != "wsd" or ending(config, at)[0] > warm):
        assert found[warm] == 0.5
