"""The order of a study: learning rates first, then paired seeds, with planned looks if it may stop early."""

from dataclasses import dataclass

from ordinate.studies.study_analysis import analyze_study, settled
from ordinate.studies.study_state import StudyState
from ordinate.training import RunConfig


@dataclass(frozen=True)
class Stage:
    """Runs that can be done side by side."""

    name: str
    runs: tuple[RunConfig, ...]  # of the study up to here, done or not
    missing: tuple[RunConfig, ...]


def next_stage(state: StudyState) -> Stage:
    """What to do next; when nothing is missing, the study is over."""
    pilots = state.pilots()
    missing = state.missing(pilots)
    if missing:
        return Stage("learning rates", tuple(pilots), tuple(missing))
    runs = pilots
    for size in state.looks.sizes:
        reported = state.reported(size)
        runs, missing = pilots + reported, state.missing(reported)
        if missing:
            return Stage(f"seeds 1 to {size}", tuple(runs), tuple(missing))
        if enough(state, size):
            break
    return Stage("done", tuple(runs), ())


def enough(state: StudyState, size: int) -> bool:
    """Whether a look at so many seeds ends the study."""
    if size == state.looks.sizes[-1]:
        return True
    return all(settled(task) for task in analyze_study(state, size).tasks)


def seeds_to_report(state: StudyState) -> int:
    """The seeds of the look at which the study stopped or is now."""
    for size in state.looks.sizes:
        if state.missing(state.reported(size)) or enough(state, size):
            return size
    raise AssertionError
