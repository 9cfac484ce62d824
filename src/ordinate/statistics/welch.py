"""Welch's test: two means whose spreads may differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Num

from ordinate.statistics.interval import finite
from ordinate.statistics.student import quantile, tails

Values = Sequence[float] | Num[np.ndarray, "..."]


@dataclass(frozen=True)
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
    return [_p(*_facts(one, two)) for one, two in many]


def _p(gap: float, error: float, freedom: float) -> float:
    if freedom == 0:
        return 1.0
    if error == 0:  # without any spread the test has a limit: the same mean, or certainly not
        return 1.0 if gap == 0 else 0.0
    return tails(gap / error, freedom)


def difference(one: Values, two: Values, level: float, bounds: tuple[float, float] | None = None) -> Difference:
    """One mean minus the other with Welch's interval, cut where no difference can lie."""
    gap, error, freedom = _facts(one, two)
    if freedom == 0:
        return Difference(gap)
    half = quantile((1 + level) / 2, freedom) * error if error else 0.0
    low, high = gap - half, gap + half
    return Difference(gap, *(float(np.clip(end, *bounds)) if bounds else end for end in (low, high)))


def _facts(one: Values, two: Values) -> tuple[float, float, float]:
    """The difference of means, its standard error and Welch's degrees of freedom; 0 of them where a side has none."""
    a, b = finite(one, "Welch's test"), finite(two, "Welch's test")
    gap = _mean(a) - _mean(b)
    if min(len(a), len(b)) < 2:
        return gap, 0.0, 0.0
    parts = [_variance(values) / len(values) for values in (a, b)]
    total = sum(parts)
    if total == 0:
        return gap, 0.0, math.inf
    below = sum((part / total) ** 2 / (len(values) - 1) for part, values in zip(parts, (a, b), strict=True))
    return gap, math.sqrt(total), 1 / below


def _mean(values: Float[np.ndarray, " n"]) -> float:
    return float(values[0]) if values[0] == values[-1] else float(values.mean())  # equal ones give no rounding


def _variance(values: Float[np.ndarray, " n"]) -> float:
    return 0.0 if values[0] == values[-1] else float(values.var(ddof=1))
