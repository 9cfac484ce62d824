"""How far from a rate the score of a guesser may lie by luck."""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

WIDTHS = 12  # standard deviations each way, beyond which nothing is counted: 1e-32 of a bell lies there
MORE = 60  # counts each way beyond that: where few are right, the upper tail is longer than a bell's
MOST_COUNTED = 4_000_000  # then the deviation is beyond 100,000, and a bell is right to less than one sequence


@lru_cache(maxsize=100_000)
def band(rate: float, sequences: int, level: float = 0.95) -> tuple[float, float]:
    """Where the accuracy of a guesser that is right at this rate lies, for so many independent sequences.

    The exact binomial interval: at most (1 - level) / 2 lie beyond either end. Sequences, not tokens: the answers
    within one sequence depend on each other.
    """
    if rate <= 0 or rate >= 1:
        return min(max(rate, 0.0), 1.0), min(max(rate, 0.0), 1.0)
    mean, spread = sequences * rate, math.sqrt(sequences * rate * (1 - rate))
    ends = (1 - level) / 2, (1 + level) / 2
    around = int(WIDTHS * spread) + MORE
    if 2 * around > MOST_COUNTED:
        low, high = (_expanded(NormalDist().inv_cdf(end), mean, spread, rate) for end in ends)
        return low / sequences, high / sequences
    first, last = max(0, int(mean) - around), min(sequences, int(mean) + around)
    low, high = np.searchsorted(_cumulative(first, last, sequences, rate), ends).clip(max=last - first)
    return (first + float(low)) / sequences, (first + float(high)) / sequences


def _cumulative(first: int, last: int, sequences: int, rate: float) -> Float[np.ndarray, " counts"]:
    """The chance of at most so many right answers, from the first to the last that can matter.

    Each count is as likely as the one before times a simple ratio; in all they make 1.
    """
    k = np.arange(first, last, dtype=np.float64)
    steps = np.log((sequences - k) / (k + 1)) + math.log(rate) - math.log1p(-rate)
    chances = np.concatenate(([0.0], steps.cumsum()))
    chances = np.exp(chances - chances.max())
    cumulative: Float[np.ndarray, " counts"] = chances.cumsum() / chances.sum()
    return cumulative


def _expanded(z: float, mean: float, spread: float, rate: float) -> float:
    """The quantile of a large binomial after Cornish and Fisher: a bell and its skewness."""
    return math.ceil(mean + spread * z + (1 - 2 * rate) * (z * z - 1) / 6 - 0.5)
