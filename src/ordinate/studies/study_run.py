"""A study's comparisons as jobs, and how far each has come."""

from dataclasses import dataclass, replace
from pathlib import Path

from ordinate.store import Store
from ordinate.studies.compare import Job, prepare
from ordinate.studies.executor import Executor
from ordinate.studies.stages import next_stage
from ordinate.studies.study_definition import Part, StudyFile, part_errors
from ordinate.studies.study_state import StudyState


@dataclass(frozen=True)
class PartProgress:
    """How far one comparison has come."""

    part: str
    done: int
    runs: int  # known to be needed: learning rates come first
    stage: str


def job(
    study: StudyFile,
    part: Part,
    store: str | Path,
    workers: int | None = None,
    executor: str = "local",
    address: str | None = None,
    shared: Executor | None = None,
) -> Job:
    """One comparison of a study, ready to be done; by an executor that it shares with others, if there is one."""
    with part_errors(part.name):
        made = prepare(
            part.tasks, part.encodings, seeds=part.seeds, rates=part.rates, store=store, workers=workers,
            executor=shared or executor, address=address, settings=part.settings,
        )  # fmt: skip
    return replace(made, title=study.title_of(part))


SHIPPED = "results come with the program"


def progress(study: StudyFile, store: Store, shipped: Store | None = None) -> list[PartProgress]:
    """Of every part in a store; what nobody has begun there may be finished among the shipped results."""
    return [_part_progress(part, store, shipped) for part in study.parts]


def _part_progress(part: Part, store: Store, shipped: Store | None) -> PartProgress:
    stage, name = next_stage(StudyState(part.study, store)), ""
    if shipped is not None and len(stage.missing) == len(stage.runs):
        other = next_stage(StudyState(part.study, shipped))
        stage, name = (stage, "") if other.missing else (other, SHIPPED)
    size = max(len(stage.runs), part.study.size if stage.missing else 0)
    return PartProgress(part.name, len(stage.runs) - len(stage.missing), size, name or stage.name)
