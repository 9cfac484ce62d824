"""Distributions that tests and intervals need: incomplete beta, Student, binomial, chi-square, studentized range."""

import math
from collections.abc import Callable
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int

from ordinate.core.errors import InputError

STEPS = 10_000  # of the continued fraction; it converges in about the root of the larger parameter
TINY = 1e-300  # keeps a denominator off zero
Many = Float[np.ndarray, " n"]
TURNS = 40  # of Newton's method; five are usual
WIDTHS = 12  # standard deviations each way, beyond which nothing is counted: a normal distribution has 1e-32 there
MORE = 60  # counts each way beyond that: where few are right, the upper tail is longer than a bell's
MOST_COUNTED = 4_000_000  # then the deviation is beyond 100,000, and a bell is right to less than one sequence


def incomplete_beta(a: Many, b: Many, x: Many) -> Many:
    """I_x(a, b) for each of many: continued fraction 8.17.22 of DLMF, on the side where it is fast."""
    far = x > (a + 1) / (a + b + 2)
    a, b, x = np.where(far, b, a), np.where(far, a, b), np.where(far, 1 - x, x)
    found = np.zeros(len(x))
    inner = np.flatnonzero(x > 0)
    a, b, x = a[inner], b[inner], x[inner]
    scale = log_gamma(a + b) - log_gamma(a) - log_gamma(b)
    found[inner] = np.exp(scale + a * np.log(x) + b * np.log1p(-x)) / a * _fraction(a, b, x)
    return np.where(far, 1 - found, found)


def _fraction(a: Many, b: Many, x: Many) -> Many:
    """By Lentz's method; those that have converged leave the others."""
    found = np.empty(len(x))
    left: Int[np.ndarray, " n"] = np.arange(len(x))
    c: Many = np.ones(len(x))
    d: Many = 1 / _off_zero(1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, STEPS):
        before = total
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + factor * d)
            c = _off_zero(1 + factor / c)
            total = total * c * d
        on = np.abs(total - before) > 1e-15 * np.abs(total)
        found[left] = total
        if not on.any():
            break
        if not on.all():
            left, a, b, x = left[on], a[on], b[on], x[on]
            c, d, total = c[on], d[on], total[on]
    return found


def log_gamma(values: Many) -> Many:
    """Of positive values: Stirling's series (DLMF 5.11.1), exact to rounding from 8 on; smaller ones are raised."""
    small = np.flatnonzero(values < 8)
    x = values.copy()
    x[small] += 8
    inverse = 1 / x**2
    series = np.zeros(len(x))
    for coefficient in (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = series * inverse + coefficient
    found: Many = (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series / x
    found[small] -= np.log(np.multiply.reduce([values[small] + step for step in range(8)]))
    return found


def _off_zero(values: Many) -> Many:
    return np.where(np.abs(values) > TINY, values, TINY)


def tails(t: float, freedom: float) -> float:
    """The share of Student's distribution that lies at least this far from zero, both sides together."""
    return float(many_tails(np.array([float(t)]), np.array([float(freedom)]))[0])


def many_tails(t: Many, freedom: Many) -> Many:
    """The same for each of many."""
    found = np.array([math.erfc(abs(value) / math.sqrt(2)) for value in t]) if np.isinf(freedom).any() else 0 * t
    finite = np.flatnonzero(np.isfinite(freedom))
    with np.errstate(over="ignore"):  # an infinite square leaves nothing beyond it
        share = freedom[finite] / (freedom[finite] + t[finite] ** 2)
    found[finite] = incomplete_beta(freedom[finite] / 2, np.full(len(finite), 0.5), share)
    return found


@cache
def quantile(probability: float, freedom: float) -> float:
    """The t below which this share of Student's distribution lies."""
    return float(quantiles(probability, np.array([float(freedom)]))[0])


def quantiles(probability: float, freedom: Many) -> Many:
    """The same for each of many degrees of freedom, by Newton's method.

    Against the logarithm of t, that of the share beyond it is a concave curve, along which Newton's method cannot go
    astray from a start that is too small, as that of the normal distribution is.
    """
    if not 0 < probability < 1 or not (freedom > 0).all():
        worst = freedom.min() if len(freedom) else math.nan
        raise InputError(
            "a Student quantile needs a probability between 0 and 1 and more than 0 degrees of freedom, "
            f"got {probability} and {worst:g}"
        )
    beyond = 2 * min(probability, 1 - probability)
    if beyond == 1:
        return np.zeros(len(freedom))
    t = np.full(len(freedom), -NormalDist().inv_cdf(beyond / 2))
    left = np.flatnonzero(np.isfinite(freedom))
    for _ in range(TURNS):
        now, own = t[left], freedom[left]
        share = many_tails(now, own)
        step = np.log(share / beyond) * share / (2 * now * _density(now, own))
        t[left] = now * np.exp(step)
        left = left[np.abs(step) > 1e-15]
        if not len(left):
            break
    signed: Many = np.copysign(t, probability - 0.5)
    return signed


def _density(t: Many, freedom: Many) -> Many:
    scale = log_gamma((freedom + 1) / 2) - log_gamma(freedom / 2) - 0.5 * np.log(freedom * math.pi)
    density: Many = np.exp(scale - (freedom + 1) / 2 * np.log1p(t**2 / freedom))
    return density


@lru_cache(maxsize=100_000)
def band(rate: float, sequences: int, level: float = 0.95) -> tuple[float, float]:
    """Where the accuracy of a guesser that is right at this rate lies, for so many independent sequences.

    The exact binomial interval: at most (1 - level) / 2 lie beyond either end. Sequences, not tokens: the answers
    within one sequence depend on each other.
    """
    if rate <= 0 or rate >= 1:
        return min(max(rate, 0.0), 1.0), min(max(rate, 0.0), 1.0)
    mean, spread = sequences * rate, math.sqrt(sequences * rate * (1 - rate))
    ends = (1 - level) / 2, (1 + level) / 2
    around = int(WIDTHS * spread) + MORE
    if 2 * around > MOST_COUNTED:
        low, high = (_expanded(NormalDist().inv_cdf(end), mean, spread, rate) for end in ends)
        return low / sequences, high / sequences
    first, last = max(0, int(mean) - around), min(sequences, int(mean) + around)
    low, high = np.searchsorted(_cumulative(first, last, sequences, rate), ends).clip(max=last - first)
    return (first + float(low)) / sequences, (first + float(high)) / sequences


def _cumulative(first: int, last: int, sequences: int, rate: float) -> Float[np.ndarray, " counts"]:
    """The chance of at most so many right answers, from the first to the last that can matter.

    Each count is as likely as the one before times a simple ratio; in all they make 1.
    """
    k = np.arange(first, last, dtype=np.float64)
    steps = np.log((sequences - k) / (k + 1)) + math.log(rate) - math.log1p(-rate)
    chances = np.concatenate(([0.0], steps.cumsum()))
    chances = np.exp(chances - chances.max())
    cumulative: Float[np.ndarray, " counts"] = chances.cumsum() / chances.sum()
    return cumulative


def _expanded(z: float, mean: float, spread: float, rate: float) -> float:
    """The quantile of a large binomial after Cornish and Fisher: a bell and its skewness."""
    return math.ceil(mean + spread * z + (1 - 2 * rate) * (z * z - 1) / 6 - 0.5)


def chi_square_survival(value: float, freedom: int) -> float:
    """The chance of a larger chi-square, for whole degrees of freedom: Abramowitz & Stegun 26.4.4 and 26.4.5."""
    if value <= 0:
        return 1.0
    half, odd = value / 2, freedom % 2
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    term = -half + (math.log(half / math.pi) / 2 + math.log(2) if odd else 0.0)  # logarithms: exp(-750) is 0
    for step in range(freedom // 2):
        total += math.exp(term)
        term += math.log(half / (step + (1.5 if odd else 1.0)))
    return min(total, 1.0)


@cache
def studentized_range_quantile(probability: float, k: int) -> float:
    """The range that k standard normal values keep to with this probability (infinite degrees of freedom)."""
    if not 0 < probability < 1 or k < 2:
        raise InputError(
            f"a studentized range needs a probability between 0 and 1 and at least 2 values, got {probability} and {k}"
        )
    return invert(lambda width: _range_within(width, k), probability, 0.0, 50.0)


def _range_within(width: float, k: int) -> float:
    """Any of the k may be the smallest; the others then lie at most `width` above it."""
    normal, step = NormalDist(), 1 / 16  # sums over a smooth bell converge at once: this step is exact to 1e-12
    total = 0.0
    for index in range(-8 * 16, 8 * 16 + 1):  # beyond 8 the density is below 1e-14
        smallest = index * step
        total += normal.pdf(smallest) * (normal.cdf(smallest + width) - normal.cdf(smallest)) ** (k - 1)
    return k * step * total


def invert(increasing: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Where between low and high an increasing function reaches a value, by bisection."""
    for _ in range(64):  # as many halvings as a float has bits to tell apart
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < value else (low, middle)
    return (low + high) / 2
