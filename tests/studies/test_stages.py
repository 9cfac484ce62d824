"""Learning rates first, then seeds; with planned looks, a study stops when it is settled and not before."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ordinate.statistics.looks import MOST
from ordinate.statistics.looks import plan as plan_looks
from ordinate.statistics.types import Basis, Outcome
from ordinate.store import Store
from ordinate.studies.compare import carry_out
from ordinate.studies.plan import PILOT, RATES, Study
from ordinate.studies.stages import Stage, next_stage, seeds_to_report
from ordinate.studies.study_analysis import analyze_study
from ordinate.studies.study_state import StudyState
from ordinate.training import RunConfig

from . import made

Result = dict[str, Any]


def carried_out(
    monkeypatch: pytest.MonkeyPatch,
    asked: Study,
    make: made.Make,
    fails: Callable[[RunConfig], bool] = lambda config: False,
) -> tuple[StudyState, made.Pretend, list[Stage]]:
    """A study done by an executor that makes its results up."""
    executor, stages = made.Pretend(make, fails), list[Stage]()
    made.pretend(monkeypatch, executor.result)
    state = carry_out(
        asked, Store(Path("nowhere")), executor, lambda e: None, lambda state, stage: stages.append(stage)
    )
    return state, executor, stages


def peak(config: RunConfig) -> Result:
    """Both are best at an edge of the first grid."""
    best = 0.01 if config.model.encoding == "rope" else 0.001
    return made.result(1 - abs(math.log(config.lr / best)) / 20, loss=1.0)


def test_learning_rates_come_first_then_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    state, executor, stages = carried_out(monkeypatch, made.study(seeds=4), peak)
    assert [stage.name for stage in stages] == ["learning rates"] * 2 + ["seeds 1 to 4"]
    first, more, seeds = executor.batches
    assert sorted((c.lr, c.model.encoding) for c in first) == [(r, e) for r in RATES for e in ("alibi", "rope")]
    assert {c.model.encoding: c.lr for c in more} == {"rope": 0.03, "alibi": 0.0003} and len(more) == 2
    assert all(c.seed == PILOT for c in (*first, *more))
    assert [(c.seed, c.model.encoding, c.lr) for c in seeds] == [
        (seed, encoding, rate) for seed in (1, 2, 3, 4) for encoding, rate in (("rope", 0.01), ("alibi", 0.001))
    ]
    last = next_stage(state)
    assert last.name == "done" and not last.missing
    assert {c.id for c in last.runs} == executor.done.keys() and len(last.runs) == len(executor.done)
    assert seeds_to_report(state) == 4


def test_a_stage_lists_all_runs_up_to_it_and_those_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    done = {0.001, 0.003}
    made.pretend(monkeypatch, lambda c: made.result(0.5) if c.lr in done and c.seed == PILOT else None)
    state = made.state_of(made.study(seeds=3))
    stage = next_stage(state)
    assert stage.name == "learning rates" and len(stage.runs) == 6 and {c.lr for c in stage.missing} == {0.01}
    done.add(0.01)
    stage = next_stage(state)
    assert stage.name == "seeds 1 to 3" and len(stage.runs) == 6 + 6 and len(stage.missing) == 6


def test_without_a_sweep_there_are_only_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    _, executor, stages = carried_out(monkeypatch, made.study(quick=True), peak)
    assert [stage.name for stage in stages] == ["seeds 1 to 3"]
    assert {c.lr for c in executor.batches[0]} == {0.003} and len(executor.done) == 6


def test_pilots_at_the_floor_are_done_again_with_the_whole_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage of their own, for the encoding that needs it."""

    def make(config: RunConfig) -> Result:
        slow = config.model.encoding == "rope" and config.seed == PILOT and config.steps < made.SETTINGS["steps"]
        return made.result(0.25 if slow else 0.9)

    state, executor, stages = carried_out(monkeypatch, made.study(seeds=2), make)
    assert [stage.name for stage in stages] == ["learning rates", "learning rates", "seeds 1 to 2"]
    assert [(len(batch), {c.steps for c in batch}) for batch in executor.batches] == [(6, {5}), (3, {20}), (4, {20})]
    assert {c.model.encoding for c in executor.batches[1]} == {"rope"}
    assert next_stage(state).name == "done" and seeds_to_report(state) == 2


def test_failed_runs_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the sweep, nor among the seeds; the others go on without them."""

    def fails(config: RunConfig) -> bool:
        return config.model.encoding == "rope" and ((config.seed, config.lr) == (PILOT, 0.001) or config.seed == 2)

    state, _, stages = carried_out(monkeypatch, made.study(seeds=3), lambda c: made.result(0.5, loss=c.lr), fails)
    assert [stage.name for stage in stages] == ["learning rates", "seeds 1 to 3"]
    assert set(state.failed.values()) == {"out of luck"} and len(state.failed) == 2
    assert next_stage(state).name == "done" and seeds_to_report(state) == 3
    found = analyze_study(state, 3).tasks[0]
    cells = {cell.encoding: cell.seeds for cell in found.ranges[0].cells}
    assert cells == {"rope": (1, 3), "alibi": (1, 2, 3)}


def test_a_study_may_fail_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in (made.study(), made.study(seeds="auto")):
        state, executor, _ = carried_out(monkeypatch, asked, peak, lambda config: True)
        assert not executor.done and next_stage(state).name == "done"
        assert analyze_study(state, seeds_to_report(state)).tasks == ()


# Planned looks.

THREE = "rope,alibi,none"
SIZES = plan_looks(3).sizes


@cache
def undecided() -> StudyState:
    """A study of three with planned looks. It holds its configurations, which take longer to make than statistics."""
    return made.state_of(made.study(THREE, seeds="auto", fixed=True))


def until_it_stops(monkeypatch: pytest.MonkeyPatch, make: made.Make) -> int:
    """How many seeds a study takes; nothing is told of a run before it is asked for."""
    state, done = undecided(), set[str]()
    made.pretend(monkeypatch, lambda config: make(config) if config.id in done else None)
    while missing := next_stage(state).missing:
        assert seeds_to_report(state) == max(config.seed for config in missing)
        done |= {config.id for config in missing}
    seeds = seeds_to_report(state)
    assert len(done) == 3 * seeds  # it reports where it stopped, and all that it has
    return seeds


def scored(levels: dict[str, float], spread: float, luck: int = 0) -> made.Make:
    """All learn the task; beyond training each has its level, and seeds differ."""

    def make(config: RunConfig) -> Result:
        encoding = str(config.model.encoding)
        draw = np.random.default_rng([luck, config.seed, *encoding.encode()]).normal()
        return made.result(outside=float(np.clip(levels[encoding] + spread * draw, 0, 1)))

    return make


def test_a_clear_difference_settles_at_the_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    assert until_it_stops(monkeypatch, scored(dict(rope=0.9, alibi=0.7, none=0.5), 0.01)) == SIZES[0]
    found = analyze_study(undecided(), SIZES[0]).tasks[0]
    assert all(pair.claim for pair in found.pairs if pair.basis is Basis.SCORES)


def test_no_difference_is_never_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty seeds are too few to call two encodings alike."""
    assert until_it_stops(monkeypatch, scored(dict(rope=0.9, alibi=0.9, none=0.9), 0.001)) == MOST
    found = analyze_study(undecided(), MOST).tasks[0]
    assert {pair.outcome for pair in found.pairs} == {Outcome.OPEN, Outcome.SAME}


def test_only_the_pairs_of_the_best_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert until_it_stops(monkeypatch, scored(dict(rope=0.9, alibi=0.5, none=0.5), 0.01)) == SIZES[0]


def test_what_is_open_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference too small for a few seeds and too large for none."""
    assert until_it_stops(monkeypatch, scored(dict(rope=0.8, alibi=0.8, none=0.8), 0.2)) == MOST
    stops = {until_it_stops(monkeypatch, scored(dict(rope=0.9, alibi=0.85, none=0.5), 0.03, luck)) for luck in range(6)}
    assert stops & set(SIZES[1:])


def test_one_open_pair_or_task_keeps_all_going(monkeypatch: pytest.MonkeyPatch) -> None:
    assert until_it_stops(monkeypatch, scored(dict(rope=0.9, alibi=0.895, none=0.5), 0.05)) == MOST
    state = made.state_of(made.study("rope,alibi", tasks=f"{made.TASK},first_last", seeds="auto", fixed=True))
    clear, open_ = scored(dict(rope=0.9, alibi=0.5), 0.01), scored(dict(rope=0.9, alibi=0.9), 0.2)
    _, executor, stages = carried_out(
        monkeypatch, state.study, lambda config: clear(config) if config.task == made.TASK else open_(config)
    )
    assert [stage.name for stage in stages] == [f"seeds 1 to {size}" for size in plan_looks(2).sizes]
    assert len(executor.done) == 4 * MOST


def test_nothing_to_compare_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody learns the task, or nobody leaves the floor, or nobody can go there: more seeds would not help."""
    assert until_it_stops(monkeypatch, lambda config: made.result(inside=0.5)) == SIZES[0]
    assert until_it_stops(monkeypatch, lambda config: made.result(outside=0.25)) == SIZES[0]
    assert until_it_stops(monkeypatch, lambda config: made.result(outside=None)) == SIZES[0]
    assert until_it_stops(monkeypatch, lambda config: made.result(status="diverged")) == SIZES[0]


def test_losses_are_settled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: RunConfig, spread: float) -> Result:
        encoding = str(config.model.encoding)
        level = {"rope": 1.0, "alibi": 1.5, "none": 2.0}[encoding]
        loss = level + spread * float(np.random.default_rng([config.seed, *encoding.encode()]).normal())
        return made.result(metric="loss", inside=loss, outside=loss, loss=loss)

    assert until_it_stops(monkeypatch, lambda config: make(config, 0.01)) == SIZES[0]
    found = analyze_study(undecided(), SIZES[0]).tasks[0]
    assert found.encodings == ("rope", "alibi", "none") and all(pair.claim for pair in found.pairs)
    assert until_it_stops(monkeypatch, lambda config: make(config, 3.0)) == MOST


def learned(who: Callable[[str, int], bool]) -> made.Make:
    return lambda c: made.result(inside=1.0 if who(str(c.model.encoding), c.seed) else 0.5, outside=0.8)


def test_learning_settles_what_has_no_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert until_it_stops(monkeypatch, learned(lambda encoding, seed: encoding == "rope")) == SIZES[0]
    # As often as each other: that is no evidence of being alike.
    turns = ("rope", "alibi", "none")
    assert until_it_stops(monkeypatch, learned(lambda encoding, seed: turns.index(encoding) == seed % 3)) == MOST


@pytest.mark.slow
def test_equal_encodings_are_seldom_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three looks and three pairs, and still hardly more than one false claim in twenty studies."""
    claims, stops = 0, []
    for luck in range(40):
        made.pretend(monkeypatch, scored(dict(rope=0.6, alibi=0.6, none=0.6), 0.05, luck))
        stops.append(seeds_to_report(undecided()))
        found = analyze_study(undecided(), stops[-1]).tasks[0]
        claims += any(pair.claim for pair in found.pairs)
    assert claims <= 5  # 2 are allowed; 6 or more would have a chance of 1 in 70
    assert stops.count(MOST) > 30


def test_failed_runs_do_not_keep_a_look_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    make = scored(dict(rope=0.9, alibi=0.7, none=0.5), 0.01)
    state, executor, _ = carried_out(
        monkeypatch, undecided().study, make, lambda c: c.model.encoding == "none" and c.seed < 4
    )
    assert len(state.failed) == 3
    assert seeds_to_report(state) == max(c.seed for batch in executor.batches for c in batch)
    assert seeds_to_report(state) > SIZES[0]  # claims about the one with fewer seeds need more of them


@pytest.mark.parametrize("luck", range(8))
def test_a_report_stands_where_the_study_stands(luck: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is done, missing or failed."""
    source = random.Random(luck)
    levels = {encoding: source.choice([0.5, 0.7, 0.9]) for encoding in THREE.split(",")}
    make, share = scored(levels, source.choice([0.002, 0.05]), luck), source.choice([0.9, 0.98, 1.0])
    all_ = undecided()
    ids = [all_.reported_run(arm, seed).id for arm in all_.arms() for seed in range(1, MOST + 1)]
    done = {name for name in ids if source.random() < share}
    made.pretend(monkeypatch, lambda config: make(config) if config.id in done else None)
    failed = {name: "" for name in ids if name not in done and source.random() < 0.7}
    state = replace(all_, failed=failed)
    stage, seeds = next_stage(state), seeds_to_report(state)
    assert seeds in SIZES and max(config.seed for config in stage.runs) == seeds
    assert stage.name == (f"seeds 1 to {seeds}" if stage.missing else "done")


@cache
def six() -> StudyState:
    return made.state_of(made.study(made.SIX, fixed=True))


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=6, max_size=6))
def test_four_seeds_never_tell_two_of_six_apart(monkeypatch: pytest.MonkeyPatch, scores: list[list[float]]) -> None:
    table = dict(zip(made.SIX, scores, strict=True))

    def make(config: RunConfig) -> Result:
        score = table[str(config.model.encoding)][config.seed - 1]
        return made.result(inside=1.0, outside=score)

    made.pretend(monkeypatch, make)
    found = analyze_study(six(), 4)
    assert found.seeds_needed > 4
    assert not any(pair.claim for pair in found.tasks[0].pairs)


def test_the_pilot_seed_is_never_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it scores beyond validation changes nothing."""

    def make(config: RunConfig, lie: float) -> Result:
        return made.result(0.9, inside=lie, outside=lie) if config.seed == PILOT else made.result(0.9, outside=0.8)

    found = []
    for lie in (0.123, 0.987):
        state, _, _ = carried_out(monkeypatch, made.study(seeds=3), lambda config, lie=lie: make(config, lie))
        found.append(analyze_study(state, 3))
    assert found[0] == found[1]
    task = found[0].tasks[0]
    assert task.seeds == (1, 2, 3) and {cell.seeds for r in task.ranges for cell in r.cells} == {(1, 2, 3)}
    assert "valid" not in {r.split for r in task.ranges}
