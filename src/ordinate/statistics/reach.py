"""How far what was learned holds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist, median_low

from ordinate.statistics.length_curve import Crossing

OTHER_BARS = (0.9, 0.99)  # at which reach is given too, so that 0.949 and 0.951 do not tell two stories
NORMAL = 500  # values from which on the number of them below the median is normal for all purposes


@dataclass(frozen=True)
class Reach:
    """Of one encoding, in multiples of the trained length."""

    seeds: tuple[float | None, ...]  # by seed: where its score falls below the bar; none: not learned
    longest: float  # tested, of any encoding
    untested: int = 0  # seeds that end where they have no score and not where they fail
    other_bars: Mapping[float, float | None] = field(default_factory=dict)  # bar: the median that it would give

    @property
    def learned(self) -> tuple[float, ...]:
        return tuple(sorted(value for value in self.seeds if value is not None))

    @property
    def by_most(self) -> bool:
        """Whether at least half of the seeds learned the task: otherwise the encoding as such holds nowhere."""
        return 2 * len(self.learned) >= len(self.seeds)

    @property
    def median(self) -> float | None:
        """Of the seeds that learned the task; of two in the middle the lower."""
        return median_low(self.learned) if self.learned else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the median, by order statistics: at least 95 % from six seeds on, below that all seeds."""
        if not self.learned:
            return None
        outside = _outside(len(self.learned))
        return self.learned[outside], self.learned[-1 - outside]

    def at_least(self, value: float) -> bool:
        """Whether so far is as far as was tested."""
        return value >= self.longest > 1


def reach_of(crossings: list[Crossing | None], longest: float, trained: int, others: dict[float, list[float]]) -> Reach:
    """From where each seed falls below the bar (none: not learned), and below other bars."""
    seeds = tuple(None if c is None else c.length / trained for c in crossings)
    medians = {bar: median_low(lengths) / trained if lengths else None for bar, lengths in others.items()}
    nothing_longer = longest == trained
    untested = sum(c.untested or (c.censored and nothing_longer) for c in crossings if c is not None)
    return Reach(seeds, longest / trained, untested, medians)


def _outside(n: int) -> int:
    """How many values to leave out on each side: the median lies outside the others in at most one case in 20."""
    if n > NORMAL:
        return int((n - NormalDist().inv_cdf(0.975) * math.sqrt(n)) / 2)
    tail, left_out = 2.0 ** (1 - n), 0
    while tail + math.comb(n, left_out + 1) * 2.0 ** (1 - n) <= 0.05:
        left_out += 1
        tail += math.comb(n, left_out) * 2.0 ** (1 - n)
    return left_out
