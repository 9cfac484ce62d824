"""How many runs, how much time and disk a comparison will take."""

from dataclasses import dataclass

from ordinate.core.display import duration
from ordinate.statistics.holm import seeds_needed
from ordinate.studies import cost
from ordinate.studies.compare import Job
from ordinate.studies.plan import MANY
from ordinate.studies.stages import next_stage
from ordinate.studies.study_state import StudyState


@dataclass(frozen=True)
class Forecast:
    """How much there is to do."""

    lines: tuple[str, ...]  # in words
    missing: int  # runs
    each: float  # seconds that one run takes


def forecast(job: Job) -> Forecast:
    """Time one step of each encoding, and count what the store has already."""
    study = job.study
    lines = [f"{', '.join(study.tasks)}: {', '.join(study.encodings)}"]
    if study.gave_up:
        lines.append(f"to be done in time: {', '.join(study.gave_up)}")
    needed = seeds_needed(study.tests)
    if study.seeds != "auto" and study.seeds < needed:
        few = f"{study.seeds} seed{'s' * (study.seeds != 1)}"
        lines.append(f"{few} can claim nothing about two encodings: --seeds {needed} can")
    size = missing = study.size
    if study.size <= 20 * MANY:  # beyond, looking alone takes minutes
        state = StudyState(study, job.store)
        stage = next_stage(state)
        size += len(state.pilots()) - len(study.bases) * len(study.rates)  # grids that have grown
        missing = size - (len(stage.runs) - len(stage.missing)) if stage.missing else 0
        if not missing:
            return Forecast((*lines, f"{len(stage.runs)} runs, all done"), 0, 0.0)
    workers = max(1, job.executor.workers_wanted)
    whole, share = cost.cost(study, cost.estimates(study), workers), missing / size
    bound = "up to " if study.seeds == "auto" else "at least " if study.rates else ""
    time = f"up to about {duration(whole.seconds * share)} with {workers} worker{'s' * (workers != 1)}"
    disk = f"{max(1, round(whole.bytes * share / 1e6)):,} MB in {job.store.folder}"
    counted = f"{bound}{size:,} runs, {size - missing:,} done"
    lines.append(f"{counted}; {time}, less where a task is learned early; {disk}")
    return Forecast(tuple(lines), missing, whole.seconds * workers / study.size)
