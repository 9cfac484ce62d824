"""The analysis of a study so far: its scores, the alarms that scores alone cannot show, and whether it is settled."""

from collections.abc import Iterator
from typing import Literal

from ordinate.results.run_result import RunResult
from ordinate.statistics.analyze import analyze
from ordinate.statistics.gap import with_loss_gaps
from ordinate.statistics.observations import Observation
from ordinate.statistics.reach import Steps
from ordinate.statistics.types import Analysis, ArmFacts, StudyFacts, TaskAnalysis
from ordinate.statistics.words import Word
from ordinate.studies import study_store
from ordinate.studies.arm import Arm
from ordinate.studies.study_state import StudyState

RISE = 0.01  # of the score, by which a learning curve has to rise


def analyze_study(state: StudyState, seeds: int) -> Analysis:
    """All statistics over the reported runs of so many seeds."""
    analyzed = analyze(
        observations(state, seeds),
        alpha=state.looks.alpha,
        planned={name: [e for task, e, _ in state.study.bases if task == name] for name in state.study.tasks},
        study=facts(state, seeds),
        steps=steps_of(state, seeds),
        limits=[f"to be done in time, given up were: {', '.join(state.study.gave_up)}"] if state.study.gave_up else (),
        preliminary=state.study.relaxed,
    )
    return with_loss_gaps(
        analyzed,
        {
            (arm.task, arm.encoding, seed, row.key): row.gap_loss
            for arm in state.arms()
            for seed in range(1, seeds + 1)
            if (result := state.result(state.reported_run(arm, seed)))
            for row in result.evaluation
        },
    )


def analyze_run(result: RunResult, encoding: str, seed: int, budget: int) -> TaskAnalysis:
    """A single run, analyzed as a comparison of one encoding with one seed; `budget`: the most steps it may take."""
    task = result.task
    steps = {} if result.bar is None else {task: {encoding: Steps((result.learned_at,), budget)}}
    analyzed = analyze(list(_scores(result, task, encoding, seed)), steps=steps)
    gaps = {(task, encoding, seed, row.key): row.gap_loss for row in result.evaluation}
    return with_loss_gaps(analyzed, gaps).tasks[0]


def observations(state: StudyState, seeds: int) -> list[Observation]:
    """Every score of the reported runs."""
    return [item for arm in state.arms() for seed in range(1, seeds + 1) for item in _observed(state, arm, seed)]


def facts(state: StudyState, seeds: int) -> dict[str, StudyFacts]:
    """By task, what scores alone cannot show."""
    by_task = {}
    for name in state.study.tasks:
        arms = [arm for arm in state.arms() if arm.task == name]
        runs = [state.reported_run(arm, seed) for arm in arms for seed in range(1, seeds + 1)]
        done = sum(state.result(config) is not None for config in runs)
        own = tuple(_facts(state, arm, seeds) for arm in arms)
        by_task[name] = StudyFacts(
            done, len(runs), own, study_store.finished_with_fewer_seeds(state.store, state.study)
        )
    return by_task


def _observed(state: StudyState, arm: Arm, seed: int) -> Iterator[Observation]:
    result = state.result(state.reported_run(arm, seed))
    if result is not None:
        yield from _scores(result, arm.task, arm.encoding, seed, state.task(arm.base).family)


def _scores(result: RunResult, task: str, encoding: str, seed: int, family: str = "") -> Iterator[Observation]:
    for row in result.evaluation:
        yield Observation(
            task=task, encoding=encoding, seed=seed, split=row.split, length=row.length,
            score=row.score, chance=row.chance, floor=row.floor, sequences=row.sequences,
            bar=result.bar, direction=result.direction, diverged=result.diverged, family=family, hash=row.hash,
            seen=row.seen,
        )  # fmt: skip


def _results(state: StudyState, arm: Arm, seeds: int) -> list[RunResult]:
    configs = [state.reported_run(arm, seed) for seed in range(1, seeds + 1)]
    return [result for config in configs if (result := state.result(config))]


def steps_of(state: StudyState, seeds: int) -> dict[str, dict[str, Steps]]:
    """By task and encoding, how many steps each seed took to learn the task; none where loss is the score."""
    found: dict[str, dict[str, Steps]] = {task: {} for task in state.study.tasks}
    for arm in state.arms():
        results = _results(state, arm, seeds)
        if results and all(result.bar is not None for result in results):
            rising = bool(results) and sum(map(_rising, results)) > len(results) / 2
            learned_at = tuple(result.learned_at for result in results)
            found[arm.task][arm.encoding] = Steps(learned_at, arm.steps or arm.base.steps, arm.fastest, rising)
    return found


def _rising(result: RunResult) -> bool:
    """Whether the validation score of a run was still rising: its last fifth is above the fifth before."""
    values = [record.value for record in result.learning_curve if record.value is not None]
    part = max(1, len(values) // 5)
    last, before = values[-part:], values[-2 * part : -part]
    return bool(before) and sum(last) / len(last) > sum(before) / len(before) + RISE


def _facts(state: StudyState, arm: Arm, seeds: int) -> ArmFacts:
    sweep, rate = arm.sweep, None
    edge: Literal["largest", "smallest"] | None = None
    if sweep and sweep.at_edge:
        edge = "largest" if sweep.chosen == sweep.points[-1].rate else "smallest"
        rate = sweep.chosen if sweep.tied else None
    norms = next((result.norms for result in _results(state, arm, seeds)), None)
    pilots = [state.pilot(arm, point.rate) for point in sweep.points] if sweep else []
    configs = [state.reported_run(arm, seed) for seed in range(1, seeds + 1)]
    errors = {run: error for run, error in state.failed.items() if run not in state.damaged}
    failed = {
        what: ([errors[c.id] for c in members if c.id in errors], len(members))
        for what, members in (("learning rates", pilots), ("runs", configs))
    }
    damaged = tuple((c.id, c.seed, c.lr, state.damaged[c.id]) for c in (*pilots, *configs) if c.id in state.damaged)
    added, embedding = (norms.encoding_norm, norms.embedding_norm) if norms else (None, None)
    dealt = {seed: arm.rate(seed) for seed in range(1, seeds + 1)} if len(arm.rates) > 1 else {}
    return ArmFacts(arm.encoding, rate, edge, added, embedding, failed, damaged, dealt, arm.rates[seeds:])


def settled(task: TaskAnalysis) -> bool:
    """Whether the best encoding differs significantly from every other, or more seeds could show no difference."""
    return len(task.verdict.use) == 1 or not _something_to_compare(task)


def _something_to_compare(task: TaskAnalysis) -> bool:
    """Some encodings learn the task where others do not, or one is above the floor where others have scores too."""
    if task.bar is None:
        return True
    shares = {good / of for good, of in task.learned.values() if of}
    if sum(cell.interval is not None for cell in task.shown.cells) < 2:
        return len(shares) > 1
    return len(shares) > 1 or any({Word.SOLVES, Word.PARTIAL} & cell.words.keys() for cell in task.shown.cells)
