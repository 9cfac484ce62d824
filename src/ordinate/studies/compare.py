"""Compare encodings: do the missing runs of a study, then collect the comparison."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ordinate.core.errors import InputError, nearest
from ordinate.results.comparison import Comparison
from ordinate.store import Store, open_store
from ordinate.studies import study_store
from ordinate.studies.collect import collect
from ordinate.studies.command import write_command
from ordinate.studies.cost import within as plan_within
from ordinate.studies.driver import driving
from ordinate.studies.executor import EventWatch, Executor, Plain
from ordinate.studies.local import Local
from ordinate.studies.plan import MANY, Seeds, Study, plan
from ordinate.studies.stages import Stage, next_stage
from ordinate.studies.study_state import StudyState

EXECUTORS = ("local", "ray")
Begin = Callable[[StudyState, Stage], None]


def compare(
    tasks: str | Sequence[str],
    encodings: str | Sequence[str] | None = None,
    *,
    seeds: Seeds | None = None,
    quick: bool = False,
    rates: Sequence[float] | None = None,
    within: float | None = None,
    store: str | Path = "runs",
    workers: int | None = None,
    executor: str = "local",
    address: str | None = None,
    watch: EventWatch | None = None,
    **settings: Any,
) -> Comparison:
    """Compare encodings on tasks: `compare("k_back", "rope,alibi", steps=300)`. Prints nothing; `watch` gets events.

    Learning rates are tuned per encoding on a pilot seed, then all encodings run on the same seeds. What the store has
    is not done again. `within` seconds, the study is planned to take no longer. `workers=0` does all in this process;
    `executor="ray"` does it on the Ray cluster at `address`, or on one that it starts on this machine.
    """
    job = prepare(
        tasks, encodings, seeds=seeds, quick=quick, rates=rates, within=within, store=store, workers=workers,
        executor=executor, address=address, settings=settings,
    )  # fmt: skip
    if job.study.size > MANY:
        raise InputError(f"this would be {job.study.size:,} runs: ask for fewer seeds, encodings or tasks")
    return job.carry_out(watch or (lambda event: None))


@dataclass(frozen=True)
class Job:
    """A study, ready to be done."""

    study: Study
    store: Store
    executor: Executor
    command: str  # that makes it again, in whatever store
    title: str = ""  # the study and part that it belongs to

    @property
    def again(self) -> str:
        """The same command, for its store."""
        return self.command + self.store.option

    @property
    def folder(self) -> Path:
        """Where its report goes."""
        return study_store.folder_of(self.store, self.study)

    def carry_out(self, watch: EventWatch, begin: Begin | None = None, *, last: bool = True) -> Comparison:
        """Store the study, do its missing runs, and collect the comparison. `last`: the workers end with it."""
        self.store.check_writable()
        kept = study_store.save(self.store, self.study, self.command, self.title)
        try:
            with driving(self.folder):
                state = carry_out(self.study, self.store, self.executor, watch, begin)
        finally:
            if last:
                self.executor.close()
        return replace(collect(state, self.command), title=kept.title, note=kept.note)


def prepare(
    tasks: str | Sequence[str],
    encodings: str | Sequence[str] | None = None,
    *,
    seeds: Seeds | None = None,
    quick: bool = False,
    rates: Sequence[float] | None = None,
    within: float | None = None,
    store: str | Path = "runs",
    workers: int | None = None,
    executor: str | Executor = "local",
    address: str | None = None,
    settings: Mapping[str, Any],
    try_models: bool = True,
) -> Job:
    """Plan a study and find who does it. Nothing is written yet. `try_models`: unless each is known to be possible."""

    def make(width: int | None = None) -> Study:
        narrower = {} if width is None else {"dim": width}
        given = {**settings, **narrower}
        return plan(tasks, encodings, seeds=seeds, quick=quick, rates=rates, settings=given, try_models=try_models)

    study, runs = make(), open_store(store)
    runs.check_place()
    if isinstance(executor, str):
        executor = make_executor(executor, runs, workers, study.bases[0][2].threads, address)
    again = write_command(study, settings, within, seeds)
    if within is not None:
        if quick or seeds == "auto":
            raise InputError("--within plans the seeds itself: leave out --quick and --seeds auto")
        before = study_store.find_by_command(runs, again)
        taken = {*settings, *settings.get("model", {}), *({"seeds"} if seeds is not None else ())}
        study = before.study if before else plan_within(within, make, executor.workers_wanted, taken)
    return Job(study, runs, executor, again)


def make_executor(name: str, store: Store, workers: int | None, threads: int, address: str | None) -> Executor:
    """Who does the runs of a study, whose runs use so many threads each."""
    if name not in EXECUTORS:
        raise InputError(f"unknown executor {name!r}: {nearest(name, EXECUTORS)}")
    if name == "local":
        if address is not None:
            raise InputError(f"--address {address} is of a Ray cluster: add --executor ray")
        return Local(store, workers, threads) if workers != 0 else Plain(store)
    if workers == 0:
        raise InputError("--workers 0 does all runs in this process: leave it out, or leave out --executor ray")
    from ordinate.studies.ray_cluster import RayCluster

    return RayCluster(store, workers, threads, address)


def carry_out(
    study: Study, store: Store, executor: Executor, watch: EventWatch, begin: Begin | None = None
) -> StudyState:
    """Do stage after stage until none is left. `begin` is called before each."""
    state = StudyState(study, store)
    while (stage := next_stage(state)).missing:
        if begin:
            begin(state, stage)
        state.failed |= executor.run(stage.missing, watch)
    for run_id in state.run_ids - state.damaged.keys():
        store.run(run_id).tidy()
    return state
