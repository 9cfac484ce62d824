"""Welch's test: two means whose spreads may differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ordinate.statistics.sides import Sides, Values
from ordinate.statistics.student import many_tails, quantiles


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two means, with its interval; one value alone on a side leaves no interval."""

    mean: float
    low: float | None = None
    high: float | None = None


def welch(one: Values, two: Values) -> float:
    """How often equal means would differ by so much: two-sided. A single value tells nothing of its spread: p is 1."""
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
