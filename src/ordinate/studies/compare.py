"""The main job: do what a study still lacks, then say what came out."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ordinate.core.config import write_value
from ordinate.core.errors import InputError
from ordinate.store import Store, open_store
from ordinate.studies import shelf
from ordinate.studies.comparison import Comparison
from ordinate.studies.executor import Executor, Plain, Watch
from ordinate.studies.gather import gather
from ordinate.studies.local import Local
from ordinate.studies.plan import MANY, Seeds, Study, plan
from ordinate.studies.stages import Stage, next_stage
from ordinate.studies.state import State


def compare(
    tasks: str | Sequence[str],
    encodings: str | Sequence[str] | None = None,
    *,
    seeds: Seeds | None = None,
    quick: bool = False,
    rates: Sequence[float] | None = None,
    store: str | Path = "runs",
    workers: int | None = None,
    watch: Watch | None = None,
    **settings: Any,
) -> Comparison:
    """Compare encodings on tasks: `compare("k_back", "rope,alibi", steps=300)`. Prints nothing; `watch` is told all.

    Learning rates are tuned per encoding on a pilot seed, then all encodings run on the same seeds. What the store has
    is not done again. `workers=0` does all of it in this process.
    """
    study = plan(tasks, encodings, seeds=seeds, quick=quick, rates=rates, settings=settings)
    if study.size > MANY:
        raise InputError(f"this would be {study.size:,} runs: ask for fewer seeds, encodings or tasks")
    runs = open_store(store)
    with_ = Plain(runs) if workers == 0 else Local(runs, workers, study.bases[0][2].threads)
    runs.check_writable()
    kept = shelf.keep(runs, study, command(study, settings, store))
    try:
        state = carry_out(study, runs, with_, watch or (lambda event: None))
    finally:
        with_.close()
    return gather(state, kept.command)


def carry_out(
    study: Study, store: Store, executor: Executor, watch: Watch, stages: Callable[[State, Stage], None] | None = None
) -> State:
    """Do stage after stage until none is left. `stages` is told of each before it begins."""
    state = State(study, store)
    while (stage := next_stage(state)).missing:
        if stages:
            stages(state, stage)
        state.failed |= executor.run(stage.missing, watch)
    return state


def command(study: Study, settings: Mapping[str, Any], store: str | Path) -> str:
    """What to type to get this comparison again."""
    words = ["ordinate", "compare", ",".join(study.tasks), "--encodings", ",".join(study.encodings)]
    words += ["--quick"] if study.quick else []
    words += ["--seeds", str(study.seeds)]
    words += ["--rates", ",".join(map(repr, study.rates))] if study.rates else []
    words += ["--store", str(store)] if str(store) != "runs" else []
    given = {key: value for key, value in settings.items() if key != "model"}
    given |= {f"model.{key}": value for key, value in settings.get("model", {}).items()}
    return shlex.join([*words, *(f"{key}={write_value(value)}" for key, value in given.items())])
