"""The exact two-sample permutation test of a difference between two means."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from ordinate.statistics.sides import Sides, Values

EXACT = 200_000  # permutations up to which all are tried: 10 and 10 values have 184,756
DRAWS = 100_000  # beyond; as many are drawn
PLENTY = 400  # values from which on the sum of a random part is normal for all purposes
ROUNDING = 1e-12  # of the largest sum: sums closer than this are the same sum, added in another order

# Thousands of pairs share what can be done in a minute; their corrected p values are 1 but for the clearest anyway.
MOST_TRIED = 4_000_000_000  # permutations of all pairs together, up to which all are tried, of those with fewest first
MOST_DRAWN = 500_000_000  # that are drawn for the others: 5,000 pairs have 100,000 each,
FEWEST_DRAWS = 1_000  # and more pairs as many as are left for each, down to this
AT_ONCE = 4_000_000  # numbers: 32 MB
PERMUTATIONS, PAIRS = 1_000, 250  # whose sums are looked at together: 2 MB, which stay near the processor

Table = Float[np.ndarray, "pairs n"]
Column = Float[np.ndarray, " pairs"]
Samples = Int[np.ndarray, " pairs"]


def permutation(one: Values, two: Values) -> float:
    """How often a random permutation of all values gives means at least as far apart: two-sided.

    Without a difference between two encodings, a score is as likely to be the other's.
    """
    return permutations([(one, two)])[0]


def permutations(many: Sequence[tuple[Values, Values]]) -> list[float]:
    """The test for each of many."""
    return permutations_of(Sides(many, "a permutation test"))


def permutations_of(sides: Sides) -> list[float]:
    """The test for each of many pairs; those with the same numbers of values share the permutations."""
    # Whose values are counted must not matter: the fewer.
    swap = sides.n[sides.one] > sides.n[sides.two]
    few, more = np.where(swap, sides.two, sides.one), np.where(swap, sides.one, sides.two)
    base = int(sides.n.max(initial=0)) + 1  # both counts in one integer, which `unique` sorts fastest
    keys, which = np.unique(sides.n[few] * base + sides.n[more], return_inverse=True)
    sizes = [divmod(key, base) for key in keys.tolist()]
    groups = [np.flatnonzero(which == index) for index in range(len(sizes))]
    p = np.ones(len(sides))
    for members, draws in zip(groups, _draws(sizes, [len(members) for members in groups]), strict=True):
        p[members] = _same_sizes(sides, few[members], more[members], draws)
    return list(p.tolist())


def _draws(sizes: Sequence[tuple[int, int]], pairs: list[int]) -> list[int]:
    """How many permutations to draw for each pair of a group; none where all are tried."""
    ways = [_ways(few, more) for few, more in sizes]
    left, tried = float(MOST_TRIED), set()
    for index in sorted(range(len(ways)), key=lambda index: ways[index] * pairs[index]):
        if ways[index] <= EXACT and ways[index] * pairs[index] <= left:
            tried.add(index)
            left -= ways[index] * pairs[index]
    others = sum(count for index, count in enumerate(pairs) if index not in tried)
    each = max(min(DRAWS, MOST_DRAWN // max(others, 1)), FEWEST_DRAWS)
    return [0 if index in tried else each for index in range(len(ways))]


@cache
def least_p(few: int, more: int) -> float:
    """The smallest p that so many values can give: all of one above all of the other."""
    return min(1.0, 2 / _ways(few, more))


def _ways(few: int, more: int) -> float:
    """The number of ways to split so many values in two; infinite where no float holds the number."""
    logarithm = math.lgamma(few + more + 1) - math.lgamma(few + 1) - math.lgamma(more + 1)
    return math.comb(few + more, few) if logarithm < 700 else math.inf


def _same_sizes(sides: Sides, few: Samples, more: Samples, draws: int) -> Column:
    """Of pairs that all have the same numbers of values; by so many draws, or by all permutations if none are drawn."""
    counts = int(sides.n[few[0]]), int(sides.n[more[0]])
    n = sum(counts)
    if draws and n > PLENTY:
        found = _normal(sides, few, more)
    else:
        parts = [
            _by_permutation(np.hstack([_rows(sides, few[some]), _rows(sides, more[some])]), counts[0], draws)
            for some in _blocks(len(few), AT_ONCE // n)
        ]
        found = np.concatenate(parts)
    if counts[0] == counts[1]:  # what draws cannot reach is known where no value lies among the others'
        apart = (sides.least[few] > sides.most[more]) | (sides.most[few] < sides.least[more])
        found = np.where(apart, least_p(*counts), found)
    return found


def _rows(sides: Sides, samples: Samples) -> Table:
    return np.array([sides.values[sample] for sample in samples.tolist()])


def _blocks(count: int, most: int) -> Iterator[slice]:
    return (slice(start, start + max(most, 1)) for start in range(0, count, max(most, 1)))


def _normal(sides: Sides, few: Samples, more: Samples) -> Column:
    """Of many values the sum of a random part is normal: means and spreads are all that it takes."""
    one, two = sides.n[few[0]], sides.n[more[0]]
    share = one * two / (one + two)
    gap = sides.mean[few] - sides.mean[more]
    bound = share * np.abs(gap) - ROUNDING * (sides.size[few] + sides.size[more])
    spread = share / (one + two - 1) * (sides.squares[few] + sides.squares[more] + share * gap**2)
    columns = zip(bound.tolist(), spread.tolist(), strict=True)
    return np.array([math.erfc(bound / math.sqrt(2 * s)) if bound > 0 and s > 0 else 1.0 for bound, s in columns])


def _by_permutation(pooled: Table, few: int, draws: int) -> Column:
    """Of all permutations, or of so many that are drawn."""
    away = pooled - pooled.mean(axis=1, keepdims=True)  # then the difference of means goes with the sum of the fewer
    least = np.abs(away[:, :few].sum(axis=1)) - ROUNDING * np.abs(pooled).sum(axis=1)
    away = np.sort(away, axis=1)  # the test depends on no order
    found = _drawn(away, least, few, draws) if draws else _counted(away, least, few)
    return np.where(least <= 0, 1.0, found)


def _counted(away: Table, least: Column, few: int) -> Column:
    permutations = _permutations(away.shape[1], few)
    return _extreme(away, least, permutations) / len(permutations)


def _drawn(away: Table, least: Column, few: int, draws: int) -> Column:
    """By drawing. What was seen is one of the draws: p is never 0."""
    source, n = np.random.default_rng(list(b"permutation")), away.shape[1]
    extreme, block = np.zeros(len(away)), min(draws, 1_000)
    for _ in range(draws // block):
        chosen = np.argpartition(source.random((block, n)), few - 1, axis=1)[:, :few]
        extreme += _extreme(away, least, chosen)
    return (extreme + 1) / (draws // block * block + 1)


def _extreme(away: Table, least: Column, chosen: Int[np.ndarray, "permutations few"]) -> Samples:
    """How many permutations give a sum at least as far from zero, for each pair."""
    extreme: Samples = np.zeros(len(away), dtype=np.int64)
    for part in _blocks(len(chosen), PERMUTATIONS):
        add = _adder(chosen[part], away.shape[1])
        for some in _blocks(len(away), PAIRS):
            sums = add(away[some])
            np.abs(sums, out=sums)
            extreme[some] += (sums >= least[some, None]).sum(axis=1)
    return extreme


def _adder(
    chosen: Int[np.ndarray, "permutations few"], n: int
) -> Callable[[Table], Float[np.ndarray, "pairs permutations"]]:
    """Adds up what each permutation has chosen of n values."""
    if chosen.shape[1] <= 3:  # of hundreds of values, perhaps: a table of permutations would be large, and mostly zeros
        return lambda values: values[:, chosen].sum(axis=2)
    table = np.zeros((n, len(chosen)))
    np.put_along_axis(table, chosen.T, 1.0, axis=0)
    return lambda values: values @ table


@lru_cache(maxsize=4)
def _permutations(n: int, few: int) -> Int[np.ndarray, "permutations few"]:
    """Every way of choosing so few values; of two halves, only those with the first value: the others mirror them."""
    if 2 * few == n:
        return np.array([(0, *rest) for rest in combinations(range(1, n), few - 1)])
    return np.array(list(combinations(range(n), few)))
