"""Probes of a study's runs: which of them to probe, and probing what is missing, one process per core."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ordinate.core.errors import InputError
from ordinate.probes.layer_measures import LayerMeasures
from ordinate.probes.records import measured_layers, stored, whole_probe
from ordinate.probes.run_probe import RunProbe
from ordinate.probes.trained_run import WEIGHTS
from ordinate.results.comparison import Comparison
from ordinate.results.run_result import RunResult
from ordinate.store import Run, Store, open_store
from ordinate.studies.stages import seeds_to_report
from ordinate.studies.study_definition import StudyFile
from ordinate.studies.study_state import StudyState

What = Literal["layers", "probe"]  # the measures by depth, or all probes


@dataclass(frozen=True)
class ProbeTask:
    """One record that can be made."""

    run: str
    what: What


@dataclass(frozen=True)
class ProbePlan:
    """What a study's finished runs have been probed for, and what is missing."""

    done: int
    missing: tuple[ProbeTask, ...]
    without_weights: int  # finished runs that have none, and no record either


def plan_probes(study: StudyFile, store: Store) -> ProbePlan:
    """By depth all reported runs; with all probes the first seed that learned, of every encoding on every task."""
    wanted: dict[ProbeTask, Run] = {}
    for part in study.parts:
        state = StudyState(part.study, store)
        seeds = range(1, seeds_to_report(state) + 1)
        for arm in state.arms():
            configs = [state.reported_run(arm, seed) for seed in seeds]
            results = [(store.run(config.id), result) for config in configs if (result := state.result(config))]
            finished = [(run, result) for run, result in results if not result.diverged]
            wanted |= {ProbeTask(run.id, "layers"): run for run, _ in finished}
            wanted |= {ProbeTask(run.id, "probe"): run for run in _first_learned(finished)}
    lacking = {task: run for task, run in wanted.items() if not _has(task, run)}
    missing = [task for task, run in lacking.items() if (run.folder / WEIGHTS).exists()]
    lost = {task.run for task in lacking} - {task.run for task in missing}
    return ProbePlan(len(wanted) - len(lacking), tuple(sorted(missing, key=lambda task: task.what)), len(lost))


def _first_learned(finished: list[tuple[Run, RunResult]]) -> list[Run]:
    """The run that speaks for an encoding: the first seed that learned the task, else the first one."""
    learned = [run for run, result in finished if result.bar is not None and result.training_end().learned]
    return (learned or [run for run, _ in finished])[:1]


def _has(task: ProbeTask, run: Run) -> bool:
    return (stored(LayerMeasures, run) if task.what == "layers" else stored(RunProbe, run)) is not None


def probe_missing(plan: ProbePlan, store: Store, workers: int) -> Iterator[tuple[ProbeTask, str]]:
    """Make each missing record; yields it, with a sentence if it cannot be made."""
    if workers == 0:
        yield from ((task, probe_one(str(store.folder), task)) for task in plan.missing)
        return
    # spawned, as torch cannot be used in a forked process once it has threads
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _one_thread) as pool:
        waiting = {pool.submit(probe_one, str(store.folder), task): task for task in plan.missing}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def probe_one(folder: str, task: ProbeTask) -> str:
    """In a worker process."""
    run = open_store(Path(folder)).run(task.run)
    try:
        measured_layers(run) if task.what == "layers" else whole_probe(run)
    except InputError as error:
        return str(error)
    return ""


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def runs_that_speak(comparison: Comparison, store: Store, task: str) -> dict[str, Run]:
    """The run to probe of each encoding that has a finished one on a task."""
    found: dict[str, list[tuple[Run, RunResult]]] = {}
    for row in comparison.runs:
        if row.task == task and not row.pilot and row.state == "finished":
            run = store.run(row.run)
            found.setdefault(row.encoding, []).append((run, run.result))
    return {encoding: _first_learned(runs)[0] for encoding, runs in found.items()}
