"""How many runs, how much time and disk a comparison will take."""

from dataclasses import dataclass

from ordinate.statistics.holm import seeds_needed
from ordinate.studies import cost
from ordinate.studies.compare import Job
from ordinate.studies.plan import MANY
from ordinate.studies.stages import next_stage
from ordinate.studies.study_state import StudyState
from ordinate.studies.time_left import range_words

BUSY = 1.3  # times as long as on a quiet machine, from where on it is said


@dataclass(frozen=True)
class RunCount:
    """What there is to do, before anything is timed."""

    lines: tuple[str, ...]  # what it compares and gives up, and what it cannot claim
    size: int  # runs in all
    missing: int


@dataclass(frozen=True)
class Forecast:
    """How much there is to do."""

    lines: tuple[str, ...]  # in words
    missing: int  # runs
    each: float  # seconds that one run takes


def count_runs(job: Job) -> RunCount:
    """Count what the store has already."""
    study = job.study
    lines = [f"{', '.join(study.tasks)}: {', '.join(study.encodings)}"]
    if study.gave_up:
        lines.append(f"to be done in time: {', '.join(study.gave_up)}")
    needed = seeds_needed(study.tests)
    if study.seeds != "auto" and study.seeds < needed:
        few = f"{study.seeds} seed{'s' * (study.seeds != 1)}"
        lines.append(f"{few} can claim nothing about two encodings: that takes {needed} seeds")
    size = missing = study.size
    if study.size <= 20 * MANY:  # beyond, looking alone takes minutes
        state = StudyState(study, job.store)
        stage = next_stage(state)
        size += len(state.pilots()) - len(study.bases) * len(study.rates)  # grids that have grown
        missing = size - (len(stage.runs) - len(stage.missing)) if stage.missing else 0
        size = size if missing else len(stage.runs)
    return RunCount(tuple(lines), size, missing)


def forecast(job: Job, counted: RunCount | None = None, timed: cost.Estimates | None = None) -> Forecast:
    """The runs with the time that they take, from a few steps of each encoding: `timed`, or else timed now."""
    study, found = job.study, counted or count_runs(job)
    size, missing = found.size, found.missing
    if not missing:
        return Forecast((*found.lines, f"{size:,} runs, all done"), 0, 0.0)
    timed = timed or cost.estimates(study)
    workers = max(1, job.executor.workers_wanted)
    whole, share = cost.cost(study, timed, workers), missing / size
    bound = "up to " if study.seeds == "auto" else "at least " if study.rates else ""
    time = f"{range_words((whole.least * share, whole.seconds * share))} with {workers} worker{'s' * (workers != 1)}"
    early = any(base.budget == "learned" for *_, base in study.bases)
    time += ", less where a task is learned early" * early
    time += ", on a machine that is busy now" * (sum(one.busy for one in timed.values()) > BUSY * len(timed))
    disk = f"{max(1, round(whole.bytes * share / 1e6)):,} MB in {job.store.folder}"
    line = f"{bound}{size:,} runs, {size - missing:,} done; {time}; {disk}"
    return Forecast((*found.lines, line), missing, whole.seconds * workers / study.size)
