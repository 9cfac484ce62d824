"""The regularized incomplete beta function, of which Student's and the binomial distribution are made."""

import math

import numpy as np
from jaxtyping import Float, Int

STEPS = 10_000  # of the continued fraction; it converges in about the root of the larger parameter
TINY = 1e-300  # keeps a denominator off zero

Many = Float[np.ndarray, " n"]


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
    return np.array([math.lgamma(value) for value in values.tolist()])


def _off_zero(values: Many) -> Many:
    return np.where(np.abs(values) > TINY, values, TINY)
