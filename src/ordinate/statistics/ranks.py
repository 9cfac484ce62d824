"""Who is best on average over tasks or seeds, and whose ranks cannot be told apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Num

from ordinate.core.errors import InputError
from ordinate.statistics.solve import invert


@dataclass(frozen=True)
class Ranks:
    """Ranks over blocks (tasks or seeds), as in a critical-difference diagram (Demšar 2006)."""

    average: dict[str, float]  # best first
    reciprocal: dict[str, float]  # mean of 1 / rank, in the same order
    blocks: int
    critical_difference: float | None  # average ranks closer than this are not told apart
    groups: tuple[tuple[str, ...], ...]  # the diagram's bars: names within one critical difference
    friedman_p: float | None  # of all names being alike


def rank(scores: Num[np.ndarray, "blocks k"]) -> Float[np.ndarray, "blocks k"]:
    """1 for the highest score of a block; equal scores share the mean of their ranks. -inf is the worst score."""
    if np.isnan(scores).any():
        raise InputError("ranks need scores that can be compared, got NaN: give -inf to a run without a score")
    mine, other = scores[:, :, None], scores[:, None, :]
    found: Float[np.ndarray, "blocks k"] = 0.5 + (other > mine).sum(axis=2) + (other == mine).sum(axis=2) / 2
    return found


def ranks(names: Sequence[str], scores: Num[np.ndarray, "blocks k"], alpha: float = 0.05) -> Ranks:
    """Average ranks with Nemenyi's critical difference, and Friedman's test of whether there is any difference."""
    blocks, k = scores.shape
    if len(names) != k or len(set(names)) != k or not k:
        raise InputError(
            f"ranks need one name for each of {k} columns, all different, got {', '.join(names) or 'none'}"
        )
    if not blocks:
        raise InputError("ranks need at least one block of scores, got none")
    table = rank(scores)
    average = table.mean(axis=0)
    order = [int(column) for column in np.argsort(average, kind="stable")]
    best_first = {names[column]: float(average[column]) for column in order}
    comparable = blocks >= 2 and k >= 2
    critical = critical_difference(k, blocks, alpha) if comparable else None
    return Ranks(
        average=best_first,
        reciprocal={names[column]: float((1 / table[:, column]).mean()) for column in order},
        blocks=blocks,
        critical_difference=critical,
        groups=_groups(best_first, critical) if critical is not None else (),
        friedman_p=_friedman(table) if comparable else None,
    )


def critical_difference(k: int, blocks: int, alpha: float = 0.05) -> float:
    """How far two average ranks of k must be apart over so many blocks (Nemenyi 1963)."""
    return studentized_range_quantile(1 - alpha, k) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * blocks))


def _groups(average: dict[str, float], critical: float) -> tuple[tuple[str, ...], ...]:
    """The longest runs of neighbours whose ends are within the critical difference; none lies inside another."""
    names, groups, reached = list(average), [], 0
    for start, first in enumerate(names):
        # Average ranks are sums of fractions: the same distance must not depend on how it was rounded.
        end = sum(average[name] - average[first] <= critical + 1e-9 for name in names)
        if end > max(reached, start + 1):
            groups.append(tuple(names[start:end]))
            reached = end
    return tuple(groups)


def _friedman(table: Float[np.ndarray, "blocks k"]) -> float | None:
    """Friedman's test on ranks. Measuring them against their own spread, not that of 1..k, corrects for ties."""
    blocks, k = table.shape
    middle = (k + 1) / 2
    spread = float(((table - middle) ** 2).sum())
    if spread == 0:  # all are tied in every block: nothing to test
        return None
    between = float(((table.mean(axis=0) - middle) ** 2).sum())
    return chi_square_survival(blocks**2 * (k - 1) * between / spread, k - 1)


def chi_square_survival(value: float, freedom: int) -> float:
    """The chance of a larger chi-square, for whole degrees of freedom: Abramowitz & Stegun 26.4.4 and 26.4.5."""
    half, odd = value / 2, freedom % 2
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    term = math.exp(-half) * (math.sqrt(half / math.pi) * 2 if odd else 1.0)
    for step in range(freedom // 2):
        total += term
        term *= half / (step + (1.5 if odd else 1.0))
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
