"""How far from a rate the score of a guesser may lie by luck."""

from functools import cache

import numpy as np


@cache
def band(rate: float, sequences: int, level: float = 0.95) -> tuple[float, float]:
    """Where the accuracy of a guesser that is right at this rate lies, for so many independent sequences.

    The exact binomial interval: at most (1 - level) / 2 lie beyond either end. Sequences, not tokens: the answers
    within one sequence depend on each other.
    """
    if rate <= 0 or rate >= 1:
        return min(max(rate, 0.0), 1.0), min(max(rate, 0.0), 1.0)
    k = np.arange(sequences + 1)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, sequences + 1)))))  # their logarithms
    ways = factorials[-1] - factorials - factorials[::-1]
    cumulative = np.exp(ways + k * np.log(rate) + (sequences - k) * np.log1p(-rate)).cumsum()
    low, high = np.searchsorted(cumulative, ((1 - level) / 2, (1 + level) / 2)).clip(max=sequences)
    return float(low) / sequences, float(high) / sequences
