"""Where the mean of a few seeds lies: Student t for few values, a bootstrap for more."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Num

from ordinate.core.errors import InputError
from ordinate.statistics.student import quantile

ENOUGH = 20  # values for the bootstrap; with 5, BCa covers only 84 % where it promises 95
PLENTY = 2000  # values from which on the mean is normal for all purposes, and resamples would fill the memory
RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval and extremes; one value alone has no interval."""

    mean: float
    low: float | None
    high: float | None
    minimum: float
    maximum: float
    n: int


def interval(
    values: Sequence[float] | Num[np.ndarray, " n"], level: float = 0.95, bounds: tuple[float, float] | None = None
) -> Interval:
    """The interval of a mean: Student t below 20 values and above 2,000, BCa between. Their order does not matter.

    `bounds` are those of the score: an interval does not reach where no score can lie.
    """
    if not 0 < level < 1:
        raise InputError(f"the level of an interval lies between 0 and 1, got {level}")
    found = finite(values, "an interval")
    minimum, maximum, n = float(found[0]), float(found[-1]), len(found)
    if n == 1:
        return Interval(minimum, None, None, minimum, maximum, n)
    if minimum == maximum:  # exactly so: a sum divided again could be off by a rounding
        return Interval(minimum, minimum, minimum, minimum, maximum, n)
    low, high = (bca if ENOUGH <= n < PLENTY else student)(found, level)
    if bounds:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Interval(float(found.mean()), low, high, minimum, maximum, n)


def finite(values: Sequence[float] | Num[np.ndarray, " n"], purpose: str) -> Float[np.ndarray, " n"]:
    """The values in ascending order, if there are any and all are numbers."""
    found = np.sort(np.asarray(values, dtype=np.float64))
    if not len(found):
        raise InputError(f"{purpose} needs at least one value, got none")
    if not np.isfinite(found).all():
        bad = int((~np.isfinite(found)).sum())
        raise InputError(f"{purpose} needs finite values, got {bad} of {len(found)} that are not: leave them out")
    return found


def student(values: Float[np.ndarray, " n"], level: float) -> tuple[float, float]:
    """Mean ± t · standard error; for normal values the coverage is exact at any number of them."""
    n = len(values)
    half = quantile((1 + level) / 2, float(n - 1)) * float(values.std(ddof=1)) / math.sqrt(n)
    mean = float(values.mean())
    return mean - half, mean + half


def bca(values: Float[np.ndarray, " n"], level: float) -> tuple[float, float]:
    """Bias-corrected and accelerated bootstrap of the mean (Efron 1987); the values must not all be the same."""
    means = _weights(len(values)) @ values
    away = values - values.mean()
    scale = np.abs(away).max()
    # Scores are often counts, so that resampled means equal the mean but for rounding: half of those lie below.
    sides = means - values.mean()
    below = float((sides < -1e-9 * scale).mean() + (sides <= 1e-9 * scale).mean()) / 2
    bias = NormalDist().inv_cdf(below)
    # The jackknife's skewness: leaving value i out moves a mean by -away[i] / (n - 1), and the factor cancels.
    away = away / scale  # so does the unit, but powers of small values would vanish
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    edges = ((1 - level) / 2, (1 + level) / 2)
    low, high = np.quantile(means, [_corrected(edge, bias, acceleration) for edge in edges])
    return float(low), float(high)


def _corrected(probability: float, bias: float, acceleration: float) -> float:
    """Which quantile of the resampled means stands for this one."""
    moved = bias + NormalDist().inv_cdf(probability)
    stretch = 1 - acceleration * moved
    if stretch <= 0:  # past the pole, where the formula has already reached the outermost mean
        return 1.0 if moved > 0 else 0.0
    return NormalDist().cdf(bias + moved / stretch)


@lru_cache(maxsize=4)
def _weights(n: int) -> Float[np.ndarray, "resamples n"]:
    """How much each of n values counts in each resample: the same for all intervals of n values."""
    source = np.random.default_rng(list(b"interval"))
    return source.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
