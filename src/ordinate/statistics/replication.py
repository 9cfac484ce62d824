"""Whether measured values agree with a published one, and whether a published order holds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
    REFUTED = "refuted"  # of learning and of longer lengths: some encoding does not do what was published


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


@dataclass(frozen=True)
class PairOrder:
    """One of the encodings published as better against one published as worse."""

    difference: float  # of the means, positive in the published direction
    p: float  # corrected over the pairs of a claim
    sign: int  # 1: significantly in the published direction, -1: in the other, 0: neither


def pair_orders(
    better: Sequence[Sequence[float]],
    worse: Sequence[Sequence[float]],
    *,
    lower: bool = False,
    margin: float = 0.0,
    alpha: float = 0.05,
) -> tuple[PairOrder, ...]:
    """Each of `better` against each of `worse`: exact rank-sum tests, corrected by Holm. Empty without values.

    Means must differ by more than the margin. Ranks need no scale: a value that was never reached may be infinite.
    """
    pairs = [(one, two) for one in better for two in worse]
    if not pairs or any(not one or not two for one, two in pairs):
        return ()
    direction = -1.0 if lower else 1.0
    found = []
    for p, (one, two) in zip(holm([rank_sum(one, two) for one, two in pairs]), pairs, strict=True):
        shift, difference = direction * _above(one, two), direction * _apart(one, two)
        significant = p < alpha and shift != 0 and abs(difference) > margin
        found.append(PairOrder(difference, p, int(math.copysign(1, shift)) if significant else 0))
    return tuple(found)


def order(pairs: Sequence[PairOrder]) -> Order | None:
    """What the pairs of a claim say together. None without pairs."""
    if not pairs:
        return None
    signs = {pair.sign for pair in pairs}
    if -1 in signs:
        return Order.REVERSED if signs == {-1} else Order.MIXED
    if signs == {1}:
        return Order.HOLDS
    return Order.PARTLY if 1 in signs else Order.OPEN


def _apart(one: Sequence[float], two: Sequence[float]) -> float:
    """The difference of two means, which may be infinite."""
    first, second = (sum(values) / len(values) for values in (one, two))
    return 0.0 if first == second else first - second


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
