"""Learning rates are chosen on the pilot seed, in distribution, for each encoding as if it were alone."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ordinate.results.comparison import RatePoint, Sweep
from ordinate.studies.arm import Arm
from ordinate.studies.plan import PILOT, PILOT_SHARE, RATES
from ordinate.studies.sweep import HIGHEST, LOWEST, choose, grow, point, rung
from ordinate.training import RunConfig

from . import made

LADDER = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)

rates = st.floats(1e-6, 1.0)


def at(rate: float, score: float | None, loss: float | None = None, error: float = 0.0) -> RatePoint:
    return RatePoint(rate, score, (None if score is None else 1 - score) if loss is None else loss, {}, error)


def chosen(*points: RatePoint, lower: bool = False) -> Sweep:
    return choose("task", "encoding", points, lower=lower)


def test_the_ladder_goes_up_and_down() -> None:
    for low, high in pairwise(LADDER):
        assert rung(low, up=True) == high and rung(high, up=False) == low
    assert rung(0.002, up=True) == 0.003 and rung(0.002, up=False) == 0.001
    assert rung(0.5, up=True) == 1.0 and rung(0.5, up=False) == 0.3


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rates)
def test_a_rung_is_the_next_round_number(rate: float) -> None:
    above, below = rung(rate, up=True), rung(rate, up=False)
    assert below < rate < above
    assert above / below <= 10 * 1.01  # a rate on a rung has both of its neighbors, others one of them each
    assert all(f"{step:.0e}"[0] in "13" for step in (above, below))


def test_the_best_score_wins() -> None:
    found = chosen(at(0.01, 0.7), at(0.001, 0.9), at(0.0001, 0.8))
    assert found.chosen == 0.001 and found.tied == (0.001,) and not found.at_edge
    assert [p.rate for p in found.points] == [0.0001, 0.001, 0.01]


def grid(*scores: float | None, error: float = 0.02) -> list[RatePoint]:
    """A score for each rate from 0.0001 on."""
    return [at(rate, score, error=error) for rate, score in zip(LADDER[2:], scores, strict=False)]


def test_within_one_standard_error_the_middle_decides() -> None:
    points = [at(0.001, 0.91), at(0.003, 0.90), at(0.01, 0.93, error=0.04), at(0.03, 0.88)]
    found = chosen(*points)
    assert found.tied == (0.001, 0.003, 0.01) and found.chosen == 0.003  # which has the worst of the three scores
    # the standard error is that of the best
    sharp = [*(replace(p, error=1.0) for p in points[:2]), replace(points[2], error=0.01), points[3]]
    assert chosen(*sharp).tied == (0.01,) and chosen(*sharp).chosen == 0.01
    # whatever the losses are
    assert (
        chosen(*(replace(p, loss=loss) for p, loss in zip(points, (0.3, 0.2, 0.1, 0.0), strict=True))).chosen == 0.003
    )


def test_of_two_in_the_middle_the_lower_one_decides() -> None:
    assert chosen(at(0.001, 1.0), at(0.003, 1.0)).chosen == 0.001
    assert chosen(*grid(0.5, 0.90, 0.91, 0.5)).chosen == LADDER[3]
    assert chosen(*grid(0.90, 0.90, 0.91, 0.90)).chosen == LADDER[3]
    assert chosen(*grid(0.90, 0.90, 0.90, 0.90, 0.90, 0.91)).chosen == LADDER[4]


@pytest.mark.parametrize("gap", [0.5, None], ids=["worse", "diverged"])
def test_a_gap_ends_the_stretch_around_the_best(gap: float | None) -> None:
    """Rates beyond a worse one tie, but say nothing about the rates between."""
    low, high = LADDER[2:5], LADDER[6:9]
    found = chosen(*grid(0.91, 0.90, 0.90, gap, 0.90, 0.90, 0.90))
    assert found.tied == (*low, *high) and found.chosen == low[1]
    found = chosen(*grid(0.90, 0.90, 0.90, gap, 0.90, 0.90, 0.91))
    assert found.tied == (*low, *high) and found.chosen == high[1]
    alone = chosen(*grid(0.90, gap, 0.91, gap, 0.90, 0.90))
    assert alone.chosen == LADDER[4] and len(alone.tied) == 4 and not alone.at_edge


def test_a_loss_is_better_when_lower() -> None:
    points = [at(0.001, 0.5), at(0.003, 0.2, error=0.05), at(0.01, 0.24, loss=0.1)]
    assert chosen(*points, lower=True).tied == (0.003, 0.01)
    assert chosen(*points, lower=True).chosen == 0.003
    assert chosen(*points).chosen == 0.001
    assert chosen(*points, at(0.03, 0.22), lower=True).chosen == 0.01  # the middle of three
    assert chosen(*points, at(0.03, 0.3), at(0.1, 0.22), lower=True).chosen == 0.003  # the last is behind a gap


def test_a_run_that_diverged_or_failed_says_nothing() -> None:
    assert point(0.01, None) == point(0.01, made.result(status="diverged")) == at(0.01, None)
    found = chosen(at(0.001, 0.5), at(0.003, 0.9), at(0.01, None))
    assert found.chosen == 0.003 and not found.at_edge  # it is known that larger rates are worse
    lost = chosen(at(0.001, None), at(0.003, None))
    assert lost.tied == () and lost.at_edge and lost.chosen == 0.001 and grow(lost) == 0.0003


def test_the_standard_error_of_a_score() -> None:
    """That of a rate over sequences, which is not 0 when all are right; of a loss, the one that was measured."""
    for score in (0.5, 0.9, 1.0):
        share = (score * 1000 + 2) / 1004
        assert point(0.01, made.result(score)).error == pytest.approx(math.sqrt(share * (1 - share) / 1004))
    found = point(0.01, made.result(1.7, metric="loss", loss=1.7, loss_error=0.03))
    assert (found.score, found.error) == (1.7, 0.03)


def test_validation_alone_is_read() -> None:
    found = point(0.01, made.result(0.8, loss=0.3, inside=0.1, outside=0.2))
    assert (found.score, found.loss, list(found.outside.values())) == (0.8, 0.3, [0.2])


scores = st.one_of(st.none(), st.floats(0, 1))
points = st.lists(st.tuples(scores, st.floats(0, 3), st.floats(0, 0.1)), min_size=1, max_size=6)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(points, st.booleans(), st.data())
def test_what_happens_beyond_training_never_matters(
    found: list[tuple[float | None, float, float]], lower: bool, data: st.DataObject
) -> None:
    bare = [
        RatePoint(rate, score, None if score is None else loss, {}, error)
        for rate, (score, loss, error) in zip(LADDER, found, strict=False)
    ]
    outside = st.dictionaries(st.sampled_from([("ood", 12), ("shift", 8)]), scores)
    seen = [replace(p, outside=data.draw(outside)) for p in bare]
    one, two = chosen(*bare, lower=lower), chosen(*data.draw(st.permutations(seen)), lower=lower)
    assert (one.chosen, one.tied, one.at_edge, grow(one)) == (two.chosen, two.tied, two.at_edge, grow(two))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(points, st.booleans())
def test_the_chosen_rate_is_in_the_middle_of_its_stretch(
    found: list[tuple[float | None, float, float]], lower: bool
) -> None:
    """Counted out by hand, from the best rate to both sides."""
    told = [at(rate, score, error=error) for rate, (score, _, error) in zip(LADDER, found, strict=False)]
    scored = [(i, p.score) for i, p in enumerate(told) if p.score is not None]
    if not scored:
        return
    best = (min if lower else max)(scored, key=lambda item: item[1])[0]
    top, error = told[best].score or 0.0, told[best].error

    def tied(index: int) -> bool:
        score = told[index].score if 0 <= index < len(told) else None
        return score is not None and (score - top if lower else top - score) <= error

    low = high = best
    while tied(low - 1):
        low -= 1
    while tied(high + 1):
        high += 1
    assert chosen(*told, lower=lower).chosen == told[(low + high) // 2].rate


def test_growing_goes_to_the_side_of_the_best() -> None:
    assert grow(chosen(at(0.001, 0.5), at(0.003, 0.6), at(0.01, 0.9))) == 0.03
    assert grow(chosen(at(0.001, 0.9), at(0.003, 0.6), at(0.01, 0.5))) == 0.0003
    assert grow(chosen(at(0.001, 0.5), at(0.003, 0.9), at(0.01, 0.6))) is None
    assert grow(chosen(at(0.001, 0.5), at(0.003, 0.89), at(0.01, 0.9, error=0.02))) is None  # one that ties is interior
    assert grow(chosen(at(0.001, 0.9))) == 0.003  # one rate has no side
    assert grow(chosen(at(0.5, 0.9), at(1.0, 0.5))) == 0.3  # from beyond the bound, back


def follow(score: Callable[[float], float | None], start: tuple[float, ...]) -> Sweep:
    """Let a grid grow to its end."""
    tried = list(start)
    while True:
        found = chosen(*(at(rate, score(rate)) for rate in tried))
        more = grow(found)
        if more is None:
            return found
        assert more not in tried
        tried.append(more)


@pytest.mark.parametrize("start", [(0.001,), (0.0003, 0.001, 0.003), (0.0002, 0.05), LADDER])
def test_a_grid_grows_until_the_best_is_interior_or_the_bound_is_reached(start: tuple[float, ...]) -> None:
    for best in LADDER:
        found = follow(lambda rate, best=best: 1 - abs(math.log(rate / best)) / 20, start)
        assert found.at_edge == (best in (LOWEST, HIGHEST)), best
        if best not in start and not found.at_edge and len(start) == 3:
            assert found.chosen == best
    rising, falling = follow(lambda rate: rate, start), follow(lambda rate: 1 - rate, start)
    assert rising.at_edge and rising.chosen == HIGHEST and grow(rising) is None
    assert falling.at_edge and falling.chosen == LOWEST and grow(falling) is None
    lost = follow(lambda rate: None, start)
    assert lost.at_edge and min(p.rate for p in lost.points) == LOWEST


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(rates, min_size=1, max_size=4, unique=True), st.integers(0, 1000))
def test_growing_ends(start: list[float], luck: int) -> None:
    found = follow(lambda rate: hash((rate, luck)) % 7 / 7, tuple(start))
    if found.at_edge:
        above = found.chosen == found.points[-1].rate
        assert rung(found.chosen, up=above) > HIGHEST if above else rung(found.chosen, up=above) < LOWEST


# Over the runs of a study: which rates are tried for whom.


def tried(monkeypatch: pytest.MonkeyPatch, make: made.Make, **options: object) -> dict[str, Sweep]:
    """All sweeps of a study, by encoding, when all results are there."""
    made.pretend(monkeypatch, make)
    state = made.state_of(made.study(**options))
    return {arm.encoding: arm.sweep for arm in state.arms() if arm.sweep}


def peak(rate: float, best: float) -> float:
    return 1 - abs(math.log(rate / best)) / 20


BEST = {"rope": 0.03, "alibi": 0.001, "none": 0.0001, "t5": 0.003}


def each_its_own(config: RunConfig) -> dict[str, Any]:
    return made.result(peak(config.lr, BEST[str(config.model.encoding)]))


def test_a_grid_grows_only_for_the_encoding_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried(monkeypatch, each_its_own, encodings=list(BEST))
    assert {encoding: sweep.chosen for encoding, sweep in found.items()} == BEST
    assert {encoding: tuple(p.rate for p in sweep.points) for encoding, sweep in found.items()} == {
        "rope": LADDER[4:], "alibi": LADDER[3:7], "none": LADDER[1:7], "t5": RATES
    }  # fmt: skip
    assert not any(sweep.at_edge for sweep in found.values())


@pytest.mark.parametrize("others", [["alibi"], ["none"], ["alibi", "none", "t5"]], ids=",".join)
def test_no_rate_depends_on_who_else_is_compared(others: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does any run: two studies share all those of an encoding that both have."""

    def make(config: RunConfig) -> dict[str, Any]:
        if config.model.encoding == "alibi":  # stays at the floor in its short runs
            return made.result(0.25 if config.steps < made.SETTINGS["steps"] else peak(config.lr, 0.001))
        return each_its_own(config)

    made.pretend(monkeypatch, make)

    def of_rope(encodings: list[str]) -> tuple[Arm, list[str], list[str]]:
        state = made.state_of(made.study(encodings))
        arm = next(arm for arm in state.arms() if arm.encoding == "rope")
        ids = [[c.id for c in runs if c.model.encoding == "rope"] for runs in (state.pilots(), state.reported(3))]
        return arm, ids[0], ids[1]

    arm, pilots, reported = of_rope(["rope", *others])
    assert arm.rates == (0.03,) and len(pilots) == 5 and len(reported) == 3
    assert (arm, pilots, reported) == of_rope(["t5", "rope"])


# The budget of a pilot.

WHOLE = made.SETTINGS["steps"]
SHORT = WHOLE // PILOT_SHARE


def budgets(monkeypatch: pytest.MonkeyPatch, make: made.Make, **options: Any) -> dict[str, set[int]]:
    """How many steps the pilots of each encoding have; reported runs have all of them."""
    made.pretend(monkeypatch, make)
    state = made.state_of(made.study(**options))
    assert {config.steps for config in state.reported(2)} == {WHOLE}
    found: dict[str, set[int]] = {}
    for config in state.pilots():
        found.setdefault(str(config.model.encoding), set()).add(config.steps)
    assert found == {arm.encoding: {arm.pilot_steps} for arm in state.arms()}
    return found


def rates_of(sweeps: Iterable[Sweep]) -> set[tuple[float, ...]]:
    return {tuple(p.rate for p in sweep.points) for sweep in sweeps}


def test_pilots_have_a_quarter_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (WHOLE, SHORT) == (20, 5)
    assert budgets(monkeypatch, lambda c: made.result(0.5)) == {"rope": {SHORT}, "alibi": {SHORT}}
    assert budgets(monkeypatch, lambda c: None) == {"rope": {SHORT}, "alibi": {SHORT}}
    # one rate that leaves the floor is enough
    one = budgets(monkeypatch, lambda c: made.result(0.5 if c.lr == 0.003 else 0.25))
    assert one == {"rope": {SHORT}, "alibi": {SHORT}}


@pytest.mark.parametrize("status", ["finished", "diverged"])
def test_pilots_that_stay_at_the_floor_get_the_whole_budget(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be chosen among rates that all score like a guess; only who needs it gets more."""

    def make(config: RunConfig) -> dict[str, Any]:
        if config.model.encoding == "rope" and config.steps == SHORT:
            return made.result(0.26, status=status)  # within the band of a floor of 0.25
        return made.result(peak(config.lr, 0.003 if config.steps == WHOLE else 0.01))

    assert budgets(monkeypatch, make) == {"rope": {WHOLE}, "alibi": {SHORT}}
    found = tried(monkeypatch, make)
    assert (found["rope"].chosen, found["alibi"].chosen) == (0.003, 0.01)


def test_pilots_are_short_until_all_have_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert budgets(monkeypatch, lambda c: None if c.lr == 0.01 else made.result(0.25)) == {
        "rope": {SHORT}, "alibi": {SHORT}
    }  # fmt: skip


def test_a_grid_that_grows_after_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate that is added is tried shortly first; as long as none leaves the floor there, whole runs decide."""

    def make(config: RunConfig, leaves: float) -> dict[str, Any]:
        if config.steps == SHORT:
            return made.result(0.5 if config.lr == leaves else 0.25)
        return made.result(peak(config.lr, 0.03))

    assert budgets(monkeypatch, lambda c: make(c, math.inf)) == {"rope": {WHOLE}, "alibi": {WHOLE}}
    found = tried(monkeypatch, lambda c: make(c, math.inf))
    assert {sweep.chosen for sweep in found.values()} == {0.03} and rates_of(found.values()) == {LADDER[4:]}
    assert budgets(monkeypatch, lambda c: make(c, 0.03)) == {"rope": {SHORT}, "alibi": {SHORT}}
    found = tried(monkeypatch, lambda c: make(c, 0.03))
    assert {sweep.chosen for sweep in found.values()} == {0.03} and rates_of(found.values()) == {LADDER[4:]}


def test_with_a_fixed_budget_pilots_have_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = budgets(monkeypatch, lambda c: made.result(0.5), settings=dict(budget="fixed"))
    assert fixed == {"rope": {WHOLE}, "alibi": {WHOLE}}
    loss = budgets(
        monkeypatch, lambda c: made.result(1.0, loss_error=0.1, metric="loss"), tasks=made.LOSS_TASK,
        settings=dict(train_lengths=[24, 32], ood_lengths=[40]),
    )  # fmt: skip
    assert loss == {"rope": {WHOLE}, "alibi": {WHOLE}}


def test_at_the_bound_the_edge_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: RunConfig) -> dict[str, object]:
        return made.result(peak(config.lr, 1.0) if config.model.encoding == "rope" else 1.0, loss=config.lr)

    found = tried(monkeypatch, make)
    assert found["rope"].chosen == HIGHEST and found["rope"].at_edge
    assert tuple(p.rate for p in found["rope"].points) == LADDER[4:]
    assert found["alibi"].chosen == RATES[1] and not found["alibi"].at_edge  # all tie, so one is interior
    assert tuple(p.rate for p in found["alibi"].points) == RATES


def test_a_grid_waits_for_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With some runs missing, a best rate at the edge may be none: nothing is added before all have told."""
    missing = {0.003}

    def make(config: RunConfig) -> dict[str, object] | None:
        return None if config.lr in missing else made.result(peak(config.lr, 1.0))

    assert {len(sweep.points) for sweep in tried(monkeypatch, make).values()} == {3}
    missing.clear()
    assert {len(sweep.points) for sweep in tried(monkeypatch, make).values()} == {len(LADDER[4:])}


def test_each_task_has_a_grid_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, lambda c: made.result(peak(c.lr, 0.01 if c.task == made.TASK else 0.001), loss=1.0))
    state = made.state_of(made.study(tasks=f"{made.TASK},first_last"))
    rates = {arm.task: [p.rate for p in arm.sweep.points] for arm in state.arms() if arm.sweep}
    assert rates == {made.TASK: list(LADDER[4:8]), "first_last": list(LADDER[3:7])}


def test_a_loss_is_swept_for_the_lowest(monkeypatch: pytest.MonkeyPatch) -> None:
    best = {"rope": 0.001, "alibi": 0.003}

    def make(config: RunConfig) -> dict[str, object]:
        loss = 2 - peak(config.lr, best[str(config.model.encoding)])
        return made.result(loss, loss=loss, loss_error=0.001, metric="loss")

    found = tried(monkeypatch, make, tasks=made.LOSS_TASK, settings=dict(train_lengths=[24, 32], ood_lengths=[40]))
    assert {encoding: sweep.chosen for encoding, sweep in found.items()} == best


def test_reported_runs_have_the_chosen_rate_and_pilots_the_pilot_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    best = {"rope": 0.003, "alibi": 0.001}
    made.pretend(monkeypatch, lambda c: made.result(peak(c.lr, best[str(c.model.encoding)]), loss=1.0))
    state = made.state_of(made.study())
    assert {c.seed for c in state.pilots()} == {PILOT} and len(state.pilots()) == 3 + 4
    reported = state.reported(3)
    assert [(c.model.encoding, c.seed, c.lr) for c in reported] == [
        (encoding, seed, best[encoding]) for seed in (1, 2, 3) for encoding in ("rope", "alibi")
    ]
