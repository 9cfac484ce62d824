"""When to look at the scores while seeds are added until a comparison is settled, planned before the first."""

from dataclasses import dataclass

from ordinate.core.errors import InputError
from ordinate.statistics.interval import Interval
from ordinate.statistics.pairs import seeds_needed

LOOKS = 3
MOST = 20  # seeds: exact tests end there
MARGIN = 0.02  # a smaller difference of scores does not matter


@dataclass(frozen=True)
class Looks:
    """After how many seeds to look, and the risk of a false claim at each look.

    Whoever looks three times has three chances of being fooled, so each look gets a third of the risk (Bonferroni).
    """

    sizes: tuple[int, ...]
    alpha: float


def plan(encodings: int, alpha: float = 0.05) -> Looks:
    """The first look when a claim becomes possible, the last at 20 seeds, one half way; fewer where two would meet."""
    for count in range(LOOKS, 0, -1):
        first = seeds_needed(encodings, alpha / count)
        steps = range(count - 1)
        sizes = (*(first + (MOST - first) * step // len(steps) for step in steps), MOST)
        if first <= MOST and len(set(sizes)) == count:
            return Looks(sizes, alpha / count)
    raise InputError(
        f"{encodings} encodings cannot be told apart with {MOST} seeds at a risk of {alpha:g}: {_possible(alpha)}"
    )


def _possible(alpha: float) -> str:
    """What to do when there are too many encodings."""
    if seeds_needed(2, alpha) > MOST:
        return "not even 2 can, so allow a larger risk"
    most = 2
    while seeds_needed(most + 1, alpha) <= MOST:
        most += 1
    return f"compare at most {most}"


def no_difference(difference: Interval, margin: float = MARGIN) -> bool:
    """Whether the difference is settled to be too small to matter: its whole interval lies inside the margin."""
    if difference.low is None or difference.high is None:
        return False
    return -margin < difference.low and difference.high < margin
