"""All headline pairs of a comparison as one family of tests."""

from collections.abc import Sequence
from dataclasses import dataclass

from ordinate.statistics import fisher
from ordinate.statistics.analysis import Basis, Contrast, Outcome
from ordinate.statistics.looks import ALIKE, no_difference
from ordinate.statistics.pairs import effective_number, holm
from ordinate.statistics.permutation import least_p, permutations
from ordinate.statistics.welch import Difference, difference, welches

SHARES = (-1.0, 1.0)  # between these lies every difference of two accuracies


@dataclass(frozen=True)
class Sample:
    """Two encodings before the test: scores, or a 1 for each seed that learnt the task and a 0 for each other."""

    task: str
    better: str
    worse: str
    basis: Basis
    values: tuple[tuple[float, ...], tuple[float, ...]]  # of the better, of the worse
    bounded: bool = True  # accuracies, not losses
    at_floor: bool = False  # the better mean is inside the floor's band

    @property
    def means(self) -> tuple[float, float]:
        one, two = (sum(values) / len(values) for values in self.values)
        return one, two

    @property
    def least(self) -> float:
        """The smallest p that this test can give, whatever the outcome.

        It may only depend on what both encodings together have (the margins): how many seeds learnt the task, not
        whose. So of scores it is that of the most even parting; with 6 seeds each and 6 that learnt the task, Fisher's
        test can give 0.002 and scores nothing below 0.1; where all 12 learnt it, it is the other way round.
        """
        one, two = map(len, self.values)
        if self.basis is Basis.LEARNING:
            return fisher.least_p(round(sum(map(sum, self.values))), one, two)
        return least_p((one + two) // 2, (one + two + 1) // 2)


def judge(samples: Sequence[Sample], alpha: float) -> list[Contrast]:
    """Every pair with its p values, corrected over all of them.

    Two families have to agree: permutation tests of scores hold their risk where the two distributions are equal,
    Welch's where only the means are; Fisher's tests of learning are in both. In either, tests that cannot reach their
    threshold do not count (see `holm`); as a claim needs both, Welch's p counts as no smaller than the smallest that
    the permutation test can give, which makes the same tests count in both.
    """
    least = [sample.least for sample in samples]
    scores = [sample for sample in samples if sample.basis is Basis.SCORES]
    by_permutation, by_welch = (iter(test([s.values for s in scores])) for test in (permutations, welches))
    first = [_fisher(s) if s.basis is Basis.LEARNING else next(by_permutation) for s in samples]
    second = [None if s.basis is Basis.LEARNING else next(by_welch) for s in samples]
    corrected = holm(first, least, alpha)
    floored = [p if w is None else max(w, floor) for p, w, floor in zip(first, second, least, strict=True)]
    corrected_welch = holm(floored, least, alpha)
    count, tests = effective_number(least, alpha), max(len(scores), 1)
    pairs = []
    for sample, p, w, one, two, floor in zip(samples, first, second, corrected, corrected_welch, least, strict=True):
        gap = _difference(sample, alpha)
        reached = least_p(*map(len, sample.values)) if w is None else floor
        possible = reached * count < alpha
        pairs.append(
            Contrast(
                sample.better, sample.worse, sample.basis, (len(sample.values[0]), len(sample.values[1])), sample.means,
                gap, p, max(one, two) if w is None else one, w, None if w is None else two,
                _outcome(sample, max(one, two) < alpha, possible, alpha / tests),
            )
        )  # fmt: skip
    return pairs


def _fisher(sample: Sample) -> float:
    (one, of_one), (two, of_two) = ((round(sum(values)), len(values)) for values in sample.values)
    return fisher.fisher(one, of_one, two, of_two)


def _difference(sample: Sample, alpha: float) -> Difference:
    if sample.basis is Basis.LEARNING:
        return Difference(sample.means[0] - sample.means[1])
    return difference(*sample.values, 1 - alpha, SHARES if sample.bounded else None)


def _outcome(sample: Sample, sure: bool, possible: bool, share: float) -> Outcome:
    """`share` of the risk is that of calling this one pair alike (Bonferroni over all pairs that have scores)."""
    if sample.at_floor:
        return Outcome.FLOOR
    if sample.basis is Basis.LEARNING and sample.means in ((0.0, 0.0), (1.0, 1.0)):
        return Outcome.SAME
    if sure:
        return Outcome.CLAIM
    if not possible:
        return Outcome.FEW_SEEDS
    if sample.basis is Basis.SCORES and sample.bounded:
        fewest = min(map(len, sample.values))
        if fewest >= ALIKE and no_difference(_difference(sample, share), fewest):
            return Outcome.ALIKE
    return Outcome.OPEN
