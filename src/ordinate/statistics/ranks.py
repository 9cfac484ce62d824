"""Average ranks over tasks or seeds: Friedman's test and Nemenyi's critical difference."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Num

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import chi_square_survival, studentized_range_quantile

AT_ONCE = 4_000_000  # scores: 32 MB


@dataclass(frozen=True)
class AverageRanks:
    """Ranks over blocks (tasks or seeds), as in a critical-difference diagram (Demšar 2006)."""

    average: dict[str, float]  # best first
    reciprocal: dict[str, float]  # mean of 1 / rank, in the same order
    blocks: int
    critical_difference: float | None  # average ranks closer than this do not differ significantly
    friedman_p: float | None  # of all names being alike

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The diagram's bars: the longest runs of neighbors within one critical difference."""
        return () if self.critical_difference is None else _groups(self.average, self.critical_difference)


def rank(scores: Num[np.ndarray, "*many k"]) -> Float[np.ndarray, "*many k"]:
    """1 for the highest score of a block; equal scores share the mean of their ranks. -inf is the worst score."""
    if np.isnan(scores).any():
        raise InputError("ranks need scores that can be compared, got NaN: give -inf to a run without a score")
    k = scores.shape[-1]
    order = np.argsort(-scores, axis=-1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=-1)
    change = ordered[..., 1:] != ordered[..., :-1]
    edge, at = np.ones((*scores.shape[:-1], 1), dtype=bool), np.arange(k)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, change], axis=-1), at, 0), axis=-1)
    last = np.where(np.concatenate([change, edge], axis=-1), at, k)[..., ::-1]
    last = np.minimum.accumulate(last, axis=-1)[..., ::-1]
    found = np.empty(scores.shape)
    np.put_along_axis(found, order, (first + last) / 2 + 1, axis=-1)
    return found


def ranks(names: Sequence[str], scores: Num[np.ndarray, "blocks k"], alpha: float = 0.05) -> AverageRanks:
    """Average ranks with Nemenyi's critical difference, and Friedman's test of whether there is any difference."""
    return many_ranks([names], scores[None], alpha)[0]


def many_ranks(
    names: Sequence[Sequence[str]], scores: Num[np.ndarray, "many blocks k"], alpha: float = 0.05
) -> list[AverageRanks]:
    """The same for each of many tables of one shape."""
    many, blocks, k = scores.shape
    for own in names:
        if len(own) != k or len(set(own)) != k or not k:
            raise InputError(
                f"ranks need one name for each of {k} columns, all different, got {', '.join(own) or 'none'}"
            )
    if not blocks:
        raise InputError("ranks need at least one block of scores, got none")
    most = max(1, AT_ONCE // (blocks * k))
    return [
        found
        for start in range(0, many, most)
        for found in _ranked(names[start : start + most], rank(scores[start : start + most]), alpha)
    ]


def _ranked(
    names: Sequence[Sequence[str]], table: Float[np.ndarray, "many blocks k"], alpha: float
) -> Iterator[AverageRanks]:
    _, blocks, k = table.shape
    average, reciprocal = table.mean(axis=1), (1 / table).mean(axis=1)
    comparable = blocks >= 2 and k >= 2
    critical = critical_difference(k, blocks, alpha) if comparable else None
    tests = _friedman(table) if comparable else [None] * len(names)
    orders = np.argsort(average, axis=1, kind="stable")
    for own, order, mean, inverse, p in zip(
        names, orders.tolist(), average.tolist(), reciprocal.tolist(), tests, strict=True
    ):
        yield AverageRanks(
            average={own[column]: mean[column] for column in order},
            reciprocal={own[column]: inverse[column] for column in order},
            blocks=blocks,
            critical_difference=critical,
            friedman_p=p,
        )


def critical_difference(k: int, blocks: int, alpha: float = 0.05) -> float:
    """How far two average ranks of k must be apart over so many blocks (Nemenyi 1963)."""
    return studentized_range_quantile(1 - alpha, k) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * blocks))


def _groups(average: dict[str, float], critical: float) -> tuple[tuple[str, ...], ...]:
    """None lies inside another."""
    names, values, groups, reached = list(average), list(average.values()), [], 0
    for start, first in enumerate(values):
        # Average ranks are sums of fractions: the same distance must not depend on how it was rounded.
        end = bisect_right(values, critical + 1e-9, key=lambda value: value - first)
        if end > max(reached, start + 1):
            groups.append(tuple(names[start:end]))
            reached = end
    return tuple(groups)


def _friedman(table: Float[np.ndarray, "many blocks k"]) -> list[float | None]:
    """Friedman's test on ranks. Measuring them against their own spread, not that of 1..k, corrects for ties.

    None where all are tied in every block: there is nothing to test.
    """
    _, blocks, k = table.shape
    middle = (k + 1) / 2
    spread = ((table - middle) ** 2).sum(axis=(1, 2))
    between = ((table.mean(axis=1) - middle) ** 2).sum(axis=1)
    return [
        chi_square_survival(blocks**2 * (k - 1) * apart / own, k - 1) if own else None
        for own, apart in zip(spread.tolist(), between.tolist(), strict=True)
    ]
