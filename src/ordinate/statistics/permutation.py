"""The exact two-sample permutation test of a difference between two means."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from jaxtyping import Float, Num

from ordinate.statistics.interval import finite

EXACT = 200_000  # ways of parting the values up to which all are tried: 10 and 10 have 184,756
DRAWS = 100_000  # beyond; as many are drawn
BLOCK = 2_000  # draws at a time
PLENTY = 400  # values from which on the sum of a random part is normal for all purposes
ROUNDING = 1e-12  # of the largest sum: sums closer than this are the same sum, added in another order

Values = Sequence[float] | Num[np.ndarray, "..."]


def permutation(one: Values, two: Values) -> float:
    """How often a random parting of all values gives means at least as far apart: two-sided.

    Without a difference between two encodings, a score is as likely to be the other's.
    """
    return permutations([(one, two)])[0]


def permutations(many: Sequence[tuple[Values, Values]]) -> list[float]:
    """The test for each of many; those with the same numbers of values share the partings."""
    samples = [tuple(finite(values, "a permutation test") for values in pair) for pair in many]
    alike: dict[tuple[int, int], list[int]] = {}
    for index, (one, two) in enumerate(samples):
        # whose values are counted must not matter: the fewer
        alike.setdefault((min(len(one), len(two)), max(len(one), len(two))), []).append(index)
    p = [1.0] * len(samples)
    for (few, more), members in alike.items():
        parts = [sorted(samples[index], key=len) for index in members]
        for index, value in zip(members, _alike([(a, b) for a, b in parts], few, more), strict=True):
            p[index] = value
    return p


def least_p(few: int, more: int) -> float:
    """The smallest p that so many values can give: all of one above all of the other."""
    return min(1.0, 2 / math.comb(few + more, few))


def _alike(pairs: list[tuple[Num[np.ndarray, "..."], Num[np.ndarray, "..."]]], few: int, more: int) -> list[float]:
    pooled = np.array([np.concatenate(pair) for pair in pairs])  # one row for each pair
    middle = pooled.mean(axis=1, keepdims=True)
    away = pooled - middle  # then the difference of means goes with the sum of the fewer
    least = np.abs(away[:, :few].sum(axis=1)) - ROUNDING * np.abs(pooled).sum(axis=1)
    away = np.sort(away, axis=1)  # the test depends on no order
    if math.comb(few + more, few) <= EXACT:
        found = _counted(away, least, few)
    elif few + more <= PLENTY:
        found = _drawn(away, least, few)
    else:
        spread = few * more / ((few + more) * (few + more - 1)) * (away**2).sum(axis=1)
        found = np.array(
            [
                math.erfc(max(bound, 0.0) / math.sqrt(2 * s)) if s > 0 else 1.0
                for bound, s in zip(least, spread, strict=True)
            ]
        )
    if few == more:  # what draws cannot reach is known where no value lies among the others'
        apart = [a.min() > b.max() or a.max() < b.min() for a, b in pairs]
        found = np.where(apart, least_p(few, more), found)
    return [1.0 if bound <= 0 else min(1.0, float(p)) for bound, p in zip(least, found, strict=True)]


def _counted(
    away: Float[np.ndarray, "pairs n"], least: Float[np.ndarray, " pairs"], few: int
) -> Float[np.ndarray, " pairs"]:
    table = _partings(away.shape[1], few)
    counts = np.zeros(len(away))
    rows = max(1, 20_000_000 // len(table))  # sums at a time: 160 MB
    for start in range(0, len(away), rows):
        chosen = slice(start, start + rows)
        counts[chosen] = (np.abs(table @ away[chosen].T) >= least[chosen]).mean(axis=0)
    return counts


@lru_cache(maxsize=4)
def _partings(n: int, few: int) -> Float[np.ndarray, "ways n"]:
    """Which values are counted, in every way of choosing so few of them."""
    chosen = np.array(list(combinations(range(n), few)))
    table = np.zeros((len(chosen), n))
    np.put_along_axis(table, chosen, 1.0, axis=1)
    return table


def _drawn(
    away: Float[np.ndarray, "pairs n"], least: Float[np.ndarray, " pairs"], few: int
) -> Float[np.ndarray, " pairs"]:
    """By drawing. What was seen is one of the draws: p is never 0."""
    source, extreme = np.random.default_rng(list(b"permutation")), np.zeros(len(away))
    n = away.shape[1]
    for _ in range(DRAWS // BLOCK):
        chosen = np.argpartition(source.random((BLOCK, n)), few - 1, axis=1)[:, :few]
        table = np.zeros((BLOCK, n))
        np.put_along_axis(table, chosen, 1.0, axis=1)
        extreme += (np.abs(table @ away.T) >= least).sum(axis=0)
    return (extreme + 1) / (DRAWS + 1)
