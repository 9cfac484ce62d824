"""Whether measured values agree with a published one, and whether a published order holds."""

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import quantile
from ordinate.statistics.holm import holm


class Order(StrEnum):
    """What the seeds of two sides say about a published order."""

    HOLDS = "holds"  # every pair is significantly in that order
    PARTLY = "holds in part"  # some pairs are, none is reversed
    MIXED = "reversed in part"  # some pair is significantly the other way, another is not
    REVERSED = "reversed"  # every pair is significantly the other way
    OPEN = "not shown"
    REFUTED = "refuted"  # of learning: some encoding does not do what was published


def expected(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Where one more seed would lie: Student's prediction interval. None for fewer than two finite values."""
    found = np.array([value for value in values if math.isfinite(value)])
    if len(found) < 2 or len(found) < len(values):
        return None
    n, spread = len(found), float(found.std(ddof=1))
    half = quantile((1 + level) / 2, n - 1.0) * spread * math.sqrt(1 + 1 / n)
    return float(found.mean()) - half, float(found.mean()) + half


class Agreement(StrEnum):
    """Of a published value with measured ones."""

    AGREES = "agrees"  # it lies among the seeds
    POSSIBLE = "possible"  # it does not, but a further seed could have it
    DIFFERS = "differs"


def agreement(published: float, values: Sequence[float], tolerance: float) -> Agreement | None:
    """Whether a published value lies among the measured ones, or in their prediction interval; None where unknown.

    Seeds are often bimodal: of six between 0.49 and 0.86, the interval reaches 1.00, which is not the same.
    """
    if len(values) < 2:
        return None
    if min(values) - tolerance <= published <= max(values) + tolerance:
        return Agreement.AGREES
    low, high = expected(values) or (math.inf, -math.inf)
    return Agreement.POSSIBLE if low <= published <= high else Agreement.DIFFERS


def order(
    better: Sequence[Sequence[float]],
    worse: Sequence[Sequence[float]],
    *,
    lower: bool = False,
    margin: float = 0.0,
    alpha: float = 0.05,
) -> Order | None:
    """Whether each of `better` is above each of `worse`: exact rank-sum tests, corrected by Holm. None without values.

    Means must differ by more than the margin. Ranks need no scale: a value that was never reached may be infinite.
    """
    pairs = [(one, two) for one in better for two in worse]
    if not pairs or any(not one or not two for one, two in pairs):
        return None
    sign = -1.0 if lower else 1.0
    corrected = holm([rank_sum(one, two) for one, two in pairs])
    shifts = [sign * _above(one, two) for one, two in pairs]
    claims = [
        math.copysign(1, shift) if p < alpha and shift and _apart(one, two) > margin else 0.0
        for p, shift, (one, two) in zip(corrected, shifts, pairs, strict=True)
    ]
    if any(claim < 0 for claim in claims):
        return Order.REVERSED if all(claim < 0 for claim in claims) else Order.MIXED
    if all(claim > 0 for claim in claims):
        return Order.HOLDS
    return Order.PARTLY if any(claims) else Order.OPEN


def _apart(one: Sequence[float], two: Sequence[float]) -> float:
    """Between two means, which may be infinite."""
    means = [sum(values) / len(values) for values in (one, two)]
    return 0.0 if means[0] == means[1] else abs(means[0] - means[1])


def _above(one: Sequence[float], two: Sequence[float]) -> float:
    """How much more often a value of one is above one of the other than below."""
    return float(sum((a > b) - (a < b) for a in one for b in two))


def rank_sum(one: Sequence[float], two: Sequence[float]) -> float:
    """The exact two-sided p of the rank sum (Wilcoxon 1945, Mann and Whitney 1947), with mid-ranks for ties."""
    if not one or not two:
        raise InputError(f"a rank-sum test needs values on both sides, got {len(one)} and {len(two)}")
    together = [*one, *two]
    below = [sum(other < value for other in together) for value in together]
    equal = [sum(other == value for other in together) for value in together]
    doubled = [2 * b + e + 1 for b, e in zip(below, equal, strict=True)]  # twice the mid-rank, a whole number
    middle, seen = len(one) * (len(together) + 1), sum(doubled[: len(one)])
    # How many ways there are to choose so many of the ranks with this sum, rank by rank.
    ways = np.zeros((len(one) + 1, sum(doubled) + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    sums, row = np.arange(ways.shape[1]), ways[len(one)]
    return float(min(1.0, row[np.abs(sums - middle) >= abs(seen - middle)].sum() / row.sum()))
