"""The time that runs under way and to come will take, as a range: runs may learn early, and the machine may be busy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from ordinate.core.display import duration

EARLY = 0.2  # of its budget, that a run takes which learns its task early
SCORING = 1.15  # a run with its evaluation, against its steps alone

TimeRange = tuple[float, float]  # seconds: at least, at most
Paces = Mapping[str, Sequence[float]]  # by encoding: seconds that a step took, in each run that is known


@dataclass(frozen=True)
class RunAhead:
    """A run that is not done."""

    encoding: str
    step: int
    steps: int  # its budget
    likely: int  # where it ends if it learns as early as others do


def time_left(runs: Sequence[RunAhead], paces: Paces, workers: int) -> TimeRange | None:
    """From the pace of runs on this machine, busy as it is or was; none before any pace is known."""
    known = [pace for found in paces.values() for pace in found]
    if not known:
        return None
    low = high = 0.0
    for run in runs:
        own = paces.get(run.encoding) or [mean(known)]
        low += min(own) * max(0, min(run.likely, run.steps) - run.step)
        high += max(own) * max(0, run.steps - run.step) * SCORING
    return low / max(1, workers), high / max(1, workers)


def range_words(seconds: TimeRange) -> str:
    """`3 to 8 min`, `40 s to 2 min`, `about 5 min` where both ends say the same."""
    low, high = (duration(end) for end in seconds)
    if low == high:
        return f"about {high}"
    number, _, unit = low.rpartition(" ")
    return f"{number if unit == high.rpartition(' ')[2] else low} to {high}"
