"""Student's distribution with any degrees of freedom, whole or not, for one value or for many at once."""

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from ordinate.core.errors import InputError
from ordinate.statistics.beta import Many, incomplete_beta, log_gamma

TURNS = 40  # of Newton's method; five are usual


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
