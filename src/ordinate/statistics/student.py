"""Student's distribution with any degrees of freedom, whole or not."""

import math
from functools import cache

from ordinate.core.errors import InputError
from ordinate.statistics.solve import invert

STEPS = 10_000  # of the continued fraction; it converges in about the root of the degrees of freedom
TINY = 1e-300  # keeps a denominator off zero


def tails(t: float, freedom: float) -> float:
    """The share of Student's distribution that lies at least this far from zero, both sides together."""
    if math.isinf(freedom):
        return math.erfc(abs(t) / math.sqrt(2))
    square = t * t
    return 0.0 if math.isinf(square) else _beta(freedom / 2, 0.5, freedom / (freedom + square))


@cache
def quantile(probability: float, freedom: float) -> float:
    """The t below which this share of Student's distribution lies."""
    if not 0 < probability < 1 or not freedom > 0:
        raise InputError(
            "a Student quantile needs a probability between 0 and 1 and more than 0 degrees of freedom, "
            f"got {probability} and {freedom}"
        )
    root, within = math.sqrt(freedom), abs(2 * probability - 1)
    angle = invert(lambda angle: 1 - tails(root * math.tan(angle), freedom), within, 0.0, math.pi / 2)
    return math.copysign(root * math.tan(angle), probability - 0.5)


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function: continued fraction 8.17.22 of DLMF, on the side where it is fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(scale + a * math.log(x) + b * math.log1p(-x)) / a * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """By Lentz's method."""
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, STEPS):
        before = total
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + factor * d)
            c = _off_zero(1 + factor / c)
            total *= c * d
        if abs(total - before) <= 1e-15 * abs(total):
            break
    return total


def _off_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY
