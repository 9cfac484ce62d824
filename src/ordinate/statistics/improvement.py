"""The probability of improvement: how often a seed of one encoding is better than a seed of another."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ordinate.statistics.distributions import invert
from ordinate.statistics.tests import Values


class Improvement(NamedTuple):
    """A probability with its 95 % interval."""

    probability: float
    low: float
    high: float


def improvement(better: Values, worse: Values) -> Improvement:
    """Ties count half, as in the Mann-Whitney statistic."""
    return improvements(better, [worse])[0]


def improvements(better: Values, others: Sequence[Values]) -> list[Improvement]:
    """Of one sample over each of many."""
    ordered, n = np.sort(np.asarray(better, dtype=np.float64)), len(better)
    everything = np.concatenate([np.asarray(values, dtype=np.float64) for values in others]) if others else np.zeros(0)
    # Twice the number of pairs won: those above a value, and those not below it.
    wins = 2 * n - np.searchsorted(ordered, everything, "left") - np.searchsorted(ordered, everything, "right")
    starts = np.cumsum([0, *(len(values) for values in others)])
    totals = [int(wins[start:end].sum()) for start, end in pairwise(starts.tolist())]
    return [_interval(total, n, len(values)) for total, values in zip(totals, others, strict=True)]


@lru_cache(maxsize=100_000)
def _interval(twice: int, n: int, m: int) -> Improvement:
    """Newcombe's (2006) interval of the Mann-Whitney statistic, method 5: it has a width when all pairs are won."""
    seen, z, pairs, others = twice / (2 * n * m), NormalDist().inv_cdf(0.975), n * m, (n + m) / 2 - 1

    def distance(truth: float) -> float:
        """Standard errors between what was seen and a probability that may be the true one: it falls as that grows."""
        spread = 1 + others * ((1 - truth) / (2 - truth) + truth / (1 + truth))
        variance = truth * (1 - truth) * spread / pairs
        return (seen - truth) / math.sqrt(variance)

    tiny = 1e-12
    low = 0.0 if seen == 0 else invert(lambda truth: -distance(truth), -z, tiny, seen if seen < 1 else 1 - tiny)
    high = 1.0 if seen == 1 else invert(lambda truth: -distance(truth), z, seen if seen > 0 else tiny, 1 - tiny)
    return Improvement(seen, low, high)
