"""Estimates of time: processor time, with how busy the machine is beside it."""

import time

import pytest

from ordinate.studies.cost import cost
from ordinate.studies.plan import plan
from ordinate.training import resolve, timing
from ordinate.training.timing import BUSIEST, Estimate, estimate

SMALL = dict(dim=16, heads=2, layers=1, batch=8, train_lengths=[4, 8], ood_lengths=[12], evaluation_sequences=40)


@pytest.mark.parametrize(("times", "busy"), [(1.0, 1.0), (2.0, 2.0), (50.0, BUSIEST)])
def test_a_machine_that_is_busy_is_told_apart_from_a_slow_model(
    times: float, busy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock on the wall runs so many times as fast as the processor works; the estimate of a step ignores it."""
    begin = time.thread_time()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: times * time.thread_time())
    found = estimate(resolve(SMALL | {"task": "k_back", "encoding": "rope"}))
    spent = time.thread_time() - begin
    assert found.busy == pytest.approx(busy, rel=0.02)
    assert 0 < timing.STEPS * found.step < spent + timing.STEPS * found.scoring


def test_a_busy_machine_moves_the_upper_end_alone() -> None:
    study = plan("k_back", "rope,alibi", settings=SMALL, try_models=False)
    quiet, busy = (
        cost(study, {(task, encoding): Estimate(0.01, 1.0, 9, times) for task, encoding, _ in study.bases}, 2)
        for times in (1.0, 3.0)
    )
    assert quiet.least == busy.least < quiet.seconds and busy.seconds == pytest.approx(3 * quiet.seconds)
