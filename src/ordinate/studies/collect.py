"""Collect a comparison, which is everything that a report shows, from the finished runs of a store."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.core.positions import LARGEST_POSITION
from ordinate.model.assemble import distinct, make_encodings
from ordinate.results.comparison import ComparedRun, Comparison, Curve, Profile, Settings, Sweep
from ordinate.results.run_result import Machine
from ordinate.store import Store
from ordinate.store.run_table import started
from ordinate.studies.arm import Arm
from ordinate.studies.plan import PILOT
from ordinate.studies.stages import next_stage, seeds_to_report
from ordinate.studies.study_analysis import analyze_study
from ordinate.studies.study_state import StudyState
from ordinate.studies.study_store import StoredStudy
from ordinate.training import RunConfig

PER_RUN = ("seed", "lr")  # what differs between the runs of one encoding


def collect_stored(store: Store, kept: StoredStudy) -> Comparison:
    """A stored study as far as it has come, with its name and note."""
    return replace(collect(StudyState(kept.study, store), kept.command), title=kept.title, note=kept.note)


def collect(study: StudyState, command: str) -> Comparison:
    """A study as far as it has come."""
    state = replace(study, failed=dict(study.failed))  # with all that it has read, but failed runs may be tried again
    _give_up(state)
    seeds = seeds_to_report(state)
    arms = state.arms()
    reported = {(arm.task, arm.encoding): [state.reported_run(arm, s) for s in range(1, seeds + 1)] for arm in arms}
    done = {key: [c for c in configs if state.result(c)] for key, configs in reported.items()}
    first = {arm.task: arm.base for arm in reversed(arms)}
    return Comparison(
        id=state.study.id,
        command=command,
        metrics={task: base.make_task().metric for task, base in first.items()},
        trained={task: (base.train_lengths[0], base.train_lengths[-1]) for task, base in first.items()},
        analysis=analyze_study(state, seeds, command),
        sweeps=tuple(sweep for arm in arms if (sweep := _finished_points(state, arm))),
        curves=tuple(_curve(state, arm, c) for arm in arms for c in done[arm.task, arm.encoding]),
        profiles=tuple(_profile(state, arm, configs) for arm in arms if (configs := done[arm.task, arm.encoding])),
        settings={task: _shared(state, base) for task, base in first.items()},
        runs=tuple(_run(state, arm, c) for arm in arms for c in _all(state, arm, reported[arm.task, arm.encoding])),
        machine=_machine(state, [c for configs in done.values() for c in configs]),
        failures=dict(state.failed),
    )


def _give_up(state: StudyState) -> None:
    """A report does not wait: runs that failed in any process count as failed."""
    while missing := {c.id: run for c in next_stage(state).missing if (run := state.store.run(c.id)).state == "failed"}:
        state.failed |= {name: run.error for name, run in missing.items()}


def _finished_points(state: StudyState, arm: Arm) -> Sweep | None:
    """The sweep without rates whose runs failed or are still to be done: a point without a score means divergence."""
    points = [p for p in arm.sweep.points if state.result(state.pilot(arm, p.rate))] if arm.sweep else []
    return replace(arm.sweep, points=tuple(points)) if arm.sweep and points else None


def _all(state: StudyState, arm: Arm, reported: Sequence[RunConfig]) -> list[RunConfig]:
    pilots = [state.pilot(arm, point.rate) for point in arm.sweep.points] if arm.sweep else []
    return [*pilots, *reported]


def _curve(state: StudyState, arm: Arm, config: RunConfig) -> Curve:
    result = state.result(config)
    assert result is not None
    points = result.learning_curve
    return Curve(arm.task, arm.encoding, config.seed, tuple(r.step for r in points), tuple(r.value for r in points))


def _profile(state: StudyState, arm: Arm, configs: Sequence[RunConfig]) -> Profile:
    results = [found for config in configs if (found := state.result(config))]
    first = results[0]
    parts = distinct(make_encodings(arm.base.model))
    limit = min(part.max_positions for part in parts)
    return Profile(
        task=arm.task,
        encoding=arm.encoding,
        extrapolation=next((part.extrapolation for part in parts if part.max_positions == limit), "computes"),
        max_positions=None if limit >= LARGEST_POSITION else limit,
        parameters=first.parameters,
        own_parameters=first.encoding_parameters,
        step_ms=1000 * sum(r.seconds / max(1, r.steps) for r in results) / len(results),
        memory=first.memory,
        rates=arm.rates,
        embedding_norm=first.norms.embedding_norm,
        encoding_norm=first.norms.encoding_norm,
        attention=_of_one(state, configs, "attention.safetensors"),
        probe=_of_one(state, configs, "probe.json"),
    )


def _of_one(state: StudyState, configs: Sequence[RunConfig], name: str) -> Path | None:
    """The file of the first seed that learned the task, or else of the first that has it."""
    kept = {c.id: path for c in configs if (path := state.store.run(c.id).folder / name).exists()}
    results = ((run, result) for run in configs if run.id in kept and (result := state.result(run)))
    learned = (
        run.id
        for run, result in results
        if result.bar is not None and (result.in_distribution.score or 0.0) >= result.bar
    )
    return kept.get(next(learned, ""), next(iter(kept.values()), None))


def _shared(state: StudyState, base: RunConfig) -> Settings:
    """The configuration without what differs between runs, and the hashes of the problems."""
    shared = {key: value for key, value in to_dict(base).items() if key not in PER_RUN}
    shared["model"] = {key: value for key, value in shared["model"].items() if key != "encoding"}
    hashes = {f"{split} {length}": name for (split, length), name in state.problem_hashes(base).items()}
    return {**shared, "evaluation_set": hashes}


def _run(state: StudyState, arm: Arm, config: RunConfig) -> ComparedRun:
    result, run = state.result(config), state.store.run(config.id)
    about = config.id, arm.task, arm.encoding, config.seed, config.lr, config.seed == PILOT
    if result is not None:
        return ComparedRun(*about, result.status, result.seconds, started(run))
    if config.id in state.damaged:
        return ComparedRun(*about, "damaged", None)
    if config.id in state.failed:
        return ComparedRun(*about, "failed", None)
    return ComparedRun(*about, run.state if run.folder.exists() else "not started", None)


def _machine(state: StudyState, configs: Sequence[RunConfig]) -> Machine | None:
    """The machine of the first run whose environment can be read."""
    for config in configs:
        with suppress(InputError):
            return state.store.run(config.id).machine
    return None
