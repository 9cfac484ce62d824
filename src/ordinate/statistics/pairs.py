"""All pairs of encodings of a comparison, tested as one family."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from ordinate.statistics.holm import FEWEST_SEEDS, effective_number, holm
from ordinate.statistics.improvement import Improvement, improvements
from ordinate.statistics.looks import ALIKE, no_difference
from ordinate.statistics.tests import Difference, Moments, Welch, fisher, least_fisher_p, p_of_scores
from ordinate.statistics.types import Basis, Contrast, Outcome

EVEN = 0.5  # the probability of improvement must be above it, with its interval: a few perfect seeds are no claim


@dataclass(frozen=True)
class Endpoint:
    """What the encodings of a task are compared by: one value of each seed.

    Learning has a 1 for each seed that learned the task and a 0 for each other.
    """

    task: str
    basis: Basis
    values: dict[str, tuple[float, ...]]  # of the encodings that have any
    lower: bool = False  # is better
    bounded: bool = True  # accuracies, not losses
    sequences: int | None = None  # of the evaluation set
    floor: float = -1.0  # means up to here count as the floor


class _Pair(NamedTuple):
    """Two encodings on an endpoint, by number; the first has the better mean."""

    better: int
    worse: int
    p: float
    least: float  # the smallest p that the test can give
    difference: Difference  # better minus worse


def judge(endpoints: Sequence[Endpoint], alpha: float, fewest: int = FEWEST_SEEDS) -> Iterator[tuple[str, Contrast]]:
    """Every pair, by task, with its p value, corrected over all of them (see `holm`).

    A claim needs a corrected p below alpha and a probability of improvement whose interval lies above one half.

    Tests that cannot reach their threshold do not count: Fisher's where nearly all seeds learned the task or nearly
    none, and Welch's with fewer seeds than a claim takes (`fewest`).
    """
    pairs = deque(list(_tested(endpoint, alpha, fewest)) for endpoint in endpoints)
    least = [pair.least for own in pairs for pair in own]
    corrected = iter(holm([pair.p for own in pairs for pair in own], least, alpha))
    able = effective_number(least, alpha)
    scores = sum(len(own) for endpoint, own in zip(endpoints, pairs, strict=True) if endpoint.basis is Basis.SCORES)
    for endpoint in endpoints:
        own = pairs.popleft()  # half a million of them are not kept beside their contrasts
        names, values = list(endpoint.values), list(endpoint.values.values())
        averages, alike = [_mean(each) for each in values], _alike(endpoint, own, alpha / max(scores, 1))
        for pair, better in zip(own, _improvements(endpoint, own), strict=True):
            means = (averages[pair.better], averages[pair.worse])
            p = next(corrected)
            sure = p < alpha and (better is None or better.low > EVEN)
            yield (
                endpoint.task,
                Contrast(
                    better=names[pair.better],
                    worse=names[pair.worse],
                    basis=endpoint.basis,
                    seeds=(len(values[pair.better]), len(values[pair.worse])),
                    means=means,
                    difference=pair.difference,
                    p=pair.p,
                    corrected=p,
                    improvement=better,
                    outcome=_outcome(endpoint, means, sure, pair.least * able < alpha, pair[:2] in alike),
                ),
            )


def _tested(endpoint: Endpoint, alpha: float, needed: int) -> Iterator[_Pair]:
    values = list(endpoint.values.values())
    if len(values) < 2:
        return
    one, two = np.triu_indices(len(values), 1)
    raw = Moments.of(values)
    swap = (raw.mean[two] - raw.mean[one]) * (-1 if endpoint.lower else 1) > 0
    better, worse = np.where(swap, two, one), np.where(swap, one, two)
    plain = Welch.of(raw, better, worse)
    if endpoint.basis is Basis.LEARNING:
        learned, of = (raw.mean * raw.n).round().astype(int).tolist(), raw.n.astype(int).tolist()
        for a, b, gap in zip(better.tolist(), worse.tolist(), plain.gap.tolist(), strict=True):
            least = least_fisher_p(learned[a] + learned[b], of[a], of[b])
            yield _Pair(a, b, fisher(learned[a], of[a], learned[b], of[b]), least, Difference(gap))
        return
    fewest = np.minimum(raw.n[one], raw.n[two])
    if endpoint.bounded:
        log_errors = Moments.of_log_errors(values, endpoint.sequences)
        extremes = np.array([min(own) for own in values]), np.array([max(own) for own in values])
        p = p_of_scores(raw, log_errors, extremes, endpoint.sequences, better, worse)
    else:
        p = plain.p()
    p = np.where(fewest < needed, 1.0, p)
    gaps = plain.differences(1 - alpha, (-1.0, 1.0) if endpoint.bounded else None)
    columns = (better.tolist(), worse.tolist(), p.tolist(), (fewest < needed).tolist(), gaps)
    for a, b, own, few, gap in zip(*columns, strict=True):
        yield _Pair(a, b, own, float(few), gap)


def _improvements(endpoint: Endpoint, pairs: Sequence[_Pair]) -> Iterator[Improvement | None]:
    """The probability that a seed of the better encoding has the better value; none for learning."""
    if endpoint.basis is Basis.LEARNING:
        yield from [None] * len(pairs)
        return
    sign = -1.0 if endpoint.lower else 1.0
    values = [sign * np.asarray(own) for own in endpoint.values.values()]
    at: dict[int, list[int]] = {}
    for pair in pairs:
        at.setdefault(pair.better, []).append(pair.worse)
    found = {better: iter(improvements(values[better], [values[w] for w in worse])) for better, worse in at.items()}
    for pair in pairs:
        yield next(found[pair.better])


def _alike(endpoint: Endpoint, pairs: Sequence[_Pair], risk: float) -> set[tuple[int, int]]:
    """Pairs whose difference on the headline range is settled to be too small to matter.

    The risk of saying so is shared by all pairs that have scores (Bonferroni).
    """
    values = list(endpoint.values.values())
    many = [pair for pair in pairs if min(len(values[pair.better]), len(values[pair.worse])) >= ALIKE]
    if endpoint.basis is not Basis.SCORES or not endpoint.bounded or not many:
        return set()
    better, worse = _numbers([p.better for p in many]), _numbers([p.worse for p in many])
    gaps = Welch.of(Moments.of(values), better, worse).differences(1 - risk)
    seeds = [min(len(values[pair.better]), len(values[pair.worse])) for pair in many]
    return {pair[:2] for pair, gap, n in zip(many, gaps, seeds, strict=True) if no_difference(gap, n)}


def _numbers(values: list[int]) -> Int[np.ndarray, " n"]:
    return np.array(values, dtype=np.int64)


def _mean(values: Sequence[float]) -> float:
    return values[0] if min(values) == max(values) else sum(values) / len(values)


def _outcome(endpoint: Endpoint, means: tuple[float, float], sure: bool, possible: bool, alike: bool) -> Outcome:
    if endpoint.bounded and means[0] <= endpoint.floor:
        return Outcome.FLOOR
    if endpoint.basis is Basis.LEARNING and means in ((0.0, 0.0), (1.0, 1.0)):
        return Outcome.SAME
    if sure:
        return Outcome.CLAIM
    if not possible:
        return Outcome.FEW_SEEDS
    return Outcome.ALIKE if alike else Outcome.OPEN
