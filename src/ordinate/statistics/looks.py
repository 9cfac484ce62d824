"""When to look at the scores while seeds are added until a comparison is settled, planned before the first."""

from dataclasses import dataclass

from ordinate.core.errors import InputError
from ordinate.statistics.holm import seeds_needed
from ordinate.statistics.tests import Difference

LOOKS = 3
MOST = 20  # seeds
MARGIN = 0.02  # a smaller difference of scores does not matter
ALIKE = 30  # seeds from which on "no difference" may be said: with fewer, a rare failure is too often missed


@dataclass(frozen=True)
class Looks:
    """After how many seeds to look, and the risk of a false claim at each look.

    Three looks are three chances of a false claim, so each look gets a third of the risk (Bonferroni).
    """

    sizes: tuple[int, ...]
    alpha: float


def plan(tests: int, alpha: float = 0.05) -> Looks:
    """The first look when a claim becomes possible, the last at 20 seeds, one half way; fewer where two would meet.

    `tests` counts pairs of encodings on all endpoints of all tasks.
    """
    for count in range(LOOKS, 0, -1):
        first = seeds_needed(tests, alpha / count)
        steps = range(count - 1)
        sizes = (*(first + (MOST - first) * step // len(steps) for step in steps), MOST)
        if first <= MOST and len(set(sizes)) == count:
            return Looks(sizes, alpha / count)
    raise InputError(
        f"{tests} tests cannot tell encodings apart with {MOST} seeds at a risk of {alpha:g}: compare fewer "
        "encodings or tasks, or allow a larger risk"
    )


def no_difference(gap: Difference, seeds: int, margin: float = MARGIN) -> bool:
    """Whether the difference is settled to be too small to matter: its whole interval lies inside the margin.

    Never with fewer than 30 seeds on either side, nor where the scores have no spread to judge by.
    """
    if seeds < ALIKE or gap.low is None or gap.high is None or gap.low == gap.high:
        return False
    return -margin < gap.low and gap.high < margin
