"""The tests of a pair beside the permutation test: Welch's of scores, Fisher's exact test of learning."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import many_tails, quantiles
from ordinate.statistics.sides import Sides, Values

ROUNDING = 1e-9  # tables this close are equally likely, computed in another order


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two means, with its interval; one value alone on a side leaves no interval."""

    mean: float
    low: float | None = None
    high: float | None = None


def welch(one: Values, two: Values) -> float:
    """How often equal means would differ by so much: two-sided. A single value has no variance: p is 1."""
    return welches([(one, two)])[0]


def welches(many: Sequence[tuple[Values, Values]]) -> list[float]:
    """The test for each of many."""
    return Welch(Sides(many, "Welch's test")).p()


def difference(one: Values, two: Values, level: float, bounds: tuple[float, float] | None = None) -> Difference:
    """One mean minus the other with Welch's interval, cut where no difference can lie."""
    (found,) = Welch(Sides([(one, two)], "Welch's test")).differences(level)
    return found if bounds is None else cut(found, bounds)


def cut(gap: Difference, bounds: tuple[float, float]) -> Difference:
    """The same within bounds."""
    if gap.low is None or gap.high is None:
        return gap
    least, most = bounds
    return Difference(gap.mean, min(max(gap.low, least), most), min(max(gap.high, least), most))


class Welch:
    """Differences of means, their standard errors and degrees of freedom; 0 of them where a side has one value."""

    def __init__(self, sides: Sides) -> None:
        one, two = sides.one, sides.two
        self.gap: Float[np.ndarray, " pairs"] = sides.mean[one] - sides.mean[two]
        single = np.minimum(sides.n[one], sides.n[two]) < 2
        below = np.maximum(sides.n - 1, 1)
        parts = sides.squares / below / sides.n
        total = parts[one] + parts[two]
        with np.errstate(divide="ignore", invalid="ignore"):  # no spread on either side: 0 / 0
            share = (parts[one] / total) ** 2 / below[one] + (parts[two] / total) ** 2 / below[two]
        self.error = np.where(single, 0.0, np.sqrt(total))
        self.freedom = np.where(single, 0.0, np.where(total == 0, math.inf, 1 / share))

    def p(self) -> list[float]:
        """Of each pair. Without any spread the test has a limit: the same mean, or certainly not."""
        found = np.where((self.freedom == 0) | (self.gap == 0), 1.0, 0.0)
        open_ = np.flatnonzero((self.freedom > 0) & (self.error > 0))
        found[open_] = many_tails(self.gap[open_] / self.error[open_], self.freedom[open_])
        return list(found.tolist())

    def differences(self, level: float) -> list[Difference]:
        """With their intervals."""
        half = np.zeros(len(self.gap))
        open_ = np.flatnonzero((self.freedom > 0) & (self.error > 0))
        half[open_] = quantiles((1 + level) / 2, self.freedom[open_]) * self.error[open_]
        low, high = (self.gap - half).tolist(), (self.gap + half).tolist()
        several = (self.freedom > 0).tolist()
        columns = zip(self.gap.tolist(), several, low, high, strict=True)
        return [Difference(gap, least, most) if yes else Difference(gap) for gap, yes, least, most in columns]


@lru_cache(maxsize=1_000_000)
def fisher(one: int, of_one: int, two: int, of_two: int) -> float:
    """Two-sided: how often chance, with as many successes in all, gives a table that is no likelier than this one."""
    if not (0 <= one <= of_one and 0 <= two <= of_two):
        raise InputError(f"successes lie between 0 and all, got {one} of {of_one} and {two} of {of_two}")
    chances = _chances(one + two, of_one, of_two)
    seen = chances[one - max(0, one + two - of_two)]
    return min(1.0, math.fsum(chances[chances <= seen * (1 + ROUNDING)].tolist()))


@lru_cache(maxsize=1_000_000)
def least_fisher_p(successes: int, of_one: int, of_two: int) -> float:
    """The smallest p that so many successes in all can give: as many as possible on one side."""
    fewest, most = max(0, successes - of_two), min(successes, of_one)
    return min(fisher(one, of_one, successes - one, of_two) for one in (fewest, most))


@lru_cache(maxsize=16)
def _chances(successes: int, of_one: int, of_two: int) -> Float[np.ndarray, " tables"]:
    """The hypergeometric probability of each number of successes on the first side, from the fewest on."""
    k = np.arange(max(0, successes - of_two), min(successes, of_one) + 1)
    other = successes - k
    ways = _factorials(of_one)[of_one] - _factorials(of_one)[k] - _factorials(of_one)[of_one - k]
    ways += _factorials(of_two)[of_two] - _factorials(of_two)[other] - _factorials(of_two)[of_two - other]
    everything = math.lgamma(of_one + of_two + 1) - math.lgamma(successes + 1)
    chances: Float[np.ndarray, " tables"] = np.exp(ways - (everything - math.lgamma(of_one + of_two - successes + 1)))
    return chances


@lru_cache(maxsize=16)
def _factorials(n: int) -> Float[np.ndarray, " n"]:
    """The logarithms of 0! to n!."""
    return np.array([math.lgamma(k + 1) for k in range(n + 1)])
