"""The analysis of a study so far: its scores, the alarms that scores alone cannot show, and whether it is settled."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from ordinate.results.run_result import RunResult
from ordinate.statistics.analyze import analyze
from ordinate.statistics.gap import with_loss_gaps
from ordinate.statistics.learning import Steps
from ordinate.statistics.observations import Observation
from ordinate.statistics.types import Analysis, ArmFacts, StudyFacts, TaskAnalysis
from ordinate.statistics.words import Word
from ordinate.studies import study_store
from ordinate.studies.arm import Arm
from ordinate.studies.command import with_steps
from ordinate.studies.plan import PILOT_SHARE
from ordinate.studies.study_state import StudyState


def analyze_study(state: StudyState, seeds: int, command: str = "") -> Analysis:
    """All statistics over the reported runs of so many seeds. `command`: that made the study, for advice."""
    steps = steps_of(state, seeds)
    analyzed = analyze(
        observations(state, seeds),
        alpha=state.looks.alpha,
        planned={name: [e for task, e, _ in state.study.bases if task == name] for name in state.study.tasks},
        study=facts(state, seeds, steps, command),
        steps=steps,
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
    steps = {} if result.bar is None else {task: {encoding: Steps((result.training_end(seed),), budget)}}
    analyzed = analyze(list(_scores(result, task, encoding, seed)), steps=steps)
    gaps = {(task, encoding, seed, row.key): row.gap_loss for row in result.evaluation}
    return with_loss_gaps(analyzed, gaps).tasks[0]


def observations(state: StudyState, seeds: int) -> list[Observation]:
    """Every score of the reported runs."""
    return [item for arm in state.arms() for seed in range(1, seeds + 1) for item in _observed(state, arm, seed)]


def facts(
    state: StudyState, seeds: int, steps: Mapping[str, Mapping[str, Steps]], command: str
) -> dict[str, StudyFacts]:
    """By task, what scores alone cannot show."""
    by_task = {}
    for name in state.study.tasks:
        arms = [arm for arm in state.arms() if arm.task == name]
        runs = [state.reported_run(arm, seed) for arm in arms for seed in range(1, seeds + 1)]
        done = sum(state.result(config) is not None for config in runs)
        own = tuple(_facts(state, arm, seeds) for arm in arms)
        earlier = study_store.finished_with_fewer_seeds(state.store, state.study)
        control = state.task(arms[0].base).positive_control
        longer = _longer(state, [arm for arm in arms if _rising(steps[name].get(arm.encoding))], command)
        by_task[name] = StudyFacts(done, len(runs), own, earlier, control, longer)
    return by_task


def _rising(steps: Steps | None) -> bool:
    return steps is not None and Word.STILL_RISING in steps.words


def _longer(state: StudyState, rising: Sequence[Arm], command: str) -> str:
    """The command that doubles the budget of these arms.

    One that is limited to a multiple of what the fastest encoding took has at least the budget of its pilots.
    """
    if not rising:
        return ""
    steps = max(2 * (PILOT_SHARE * arm.steps if arm.fastest else arm.base.steps) for arm in rising)
    return with_steps(command, state.study, rising[0].task, steps) if command else f"steps={steps}"


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


def _results(state: StudyState, arm: Arm, seeds: int) -> dict[int, RunResult]:
    """By seed."""
    configs = {seed: state.reported_run(arm, seed) for seed in range(1, seeds + 1)}
    return {seed: result for seed, config in configs.items() if (result := state.result(config))}


def steps_of(state: StudyState, seeds: int) -> dict[str, dict[str, Steps]]:
    """By task and encoding, how the training of each seed went; none where loss is the score."""
    found: dict[str, dict[str, Steps]] = {task: {} for task in state.study.tasks}
    for arm in state.arms():
        results = _results(state, arm, seeds)
        if results and all(result.bar is not None for result in results.values()):
            ends = tuple(result.training_end(seed) for seed, result in results.items())
            found[arm.task][arm.encoding] = Steps(ends, arm.steps or arm.base.steps, arm.fastest)
    return found


def _facts(state: StudyState, arm: Arm, seeds: int) -> ArmFacts:
    sweep, rate = arm.sweep, None
    edge: Literal["largest", "smallest"] | None = None
    if sweep and sweep.at_edge:
        edge = "largest" if sweep.chosen == sweep.points[-1].rate else "smallest"
        rate = sweep.chosen if sweep.tied else None
    norms = next((result.norms for result in _results(state, arm, seeds).values()), None)
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
