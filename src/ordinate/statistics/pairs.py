"""All headline pairs of a comparison as one family of tests."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ordinate.statistics.holm import effective_number, holm
from ordinate.statistics.looks import ALIKE, no_difference
from ordinate.statistics.permutation import least_p, permutations_of
from ordinate.statistics.sides import Sides
from ordinate.statistics.tests import Difference, Welch, cut, fisher, least_fisher_p
from ordinate.statistics.types import Basis, Contrast, Outcome

SHARES = (-1.0, 1.0)  # between these lies every difference of two accuracies


@dataclass(frozen=True, slots=True)
class Sample:
    """Two encodings before the test: scores, or a 1 for each seed that learned the task and a 0 for each other."""

    task: str
    better: str
    worse: str
    basis: Basis
    values: tuple[tuple[float, ...], tuple[float, ...]]  # of the better, of the worse
    bounded: bool = True  # accuracies, not losses
    at_floor: bool = False  # the better mean is inside the floor's band


def judge(samples: Iterable[Sample], alpha: float) -> Iterator[tuple[str, Contrast]]:
    """Every pair, by task, with its p values, corrected over all of them.

    Two families have to agree: permutation tests of scores hold their risk where the two distributions are equal,
    Welch's where only the means are; Fisher's tests of learning are in both. In either, tests that cannot reach their
    threshold do not count (see `holm`); as a claim needs both, Welch's p counts as no smaller than the smallest that
    the permutation test can give, which makes the same tests count in both.
    """
    return _Family(list(samples), alpha).contrasts()


def least(samples: Sequence[Sample]) -> list[float]:
    """The smallest p that each test can give, whatever the outcome.

    It may only depend on what both encodings together have (the margins): how many seeds learned the task, not
    whose. So of scores it is that of the most even split; with 6 seeds each and 6 that learned the task, Fisher's
    test can give 0.002 and scores nothing below 0.1; where all 12 learned it, it is the other way round.
    """
    return _Family(list(samples), 1.0).least


class _Family:
    """What is known of each pair, in the order of the samples."""

    def __init__(self, samples: list[Sample], alpha: float) -> None:
        self.samples, self.alpha = samples, alpha
        self.sides = Sides([sample.values for sample in samples], "a comparison")
        one, two = self.sides.one, self.sides.two
        sizes: dict[tuple[int, int], tuple[int, int]] = {}  # a million pairs share a few
        counts = zip(self.sides.n[one].tolist(), self.sides.n[two].tolist(), strict=True)
        self.counts = [sizes.setdefault(pair, pair) for pair in counts]
        self.mean = self.sides.mean.tolist()  # of each sample
        # which are numbered in these: a list would hold a million numbers, and one of numpy's takes long to look into
        self.one, self.two = (array("q", side.tobytes()) for side in (one, two))
        self.scores = np.flatnonzero([sample.basis is Basis.SCORES for sample in samples])
        self.least = [self._least(index) for index in range(len(samples))]

    def contrasts(self) -> Iterator[tuple[str, Contrast]]:
        """Every test, corrected and judged."""
        first, second = self._tests()
        corrected = holm(first, self.least, self.alpha)
        floored = [p if w is None else max(w, floor) for p, w, floor in zip(first, second, self.least, strict=True)]
        corrected_welch = holm(floored, self.least, self.alpha)
        count = effective_number(self.least, self.alpha)
        gaps, alike = self._differences(), self._alike()
        # Each sample is freed as its contrast is built: at half a million pairs this lowers the peak by about 20 MB.
        self.samples.reverse()
        for index, (p, w) in enumerate(zip(first, second, strict=True)):
            sample = self.samples.pop()
            one, two = corrected[index], corrected_welch[index]
            reached = least_p(*self.counts[index]) if w is None else self.least[index]
            outcome = self._outcome(
                index, sample, max(one, two) < self.alpha, reached * count < self.alpha, index in alike
            )
            pair = Contrast(
                sample.better, sample.worse, sample.basis, self.counts[index], self._means(index), gaps[index], p,
                max(one, two) if w is None else one, w, None if w is None else two, outcome,
            )  # fmt: skip
            yield sample.task, pair

    def _least(self, index: int) -> float:
        one, two = self.counts[index]
        if self.samples[index].basis is Basis.LEARNING:
            return least_fisher_p(sum(self._learned(index)), one, two)
        return least_p((one + two) // 2, (one + two + 1) // 2)

    def _means(self, index: int) -> tuple[float, float]:
        return self.mean[self.one[index]], self.mean[self.two[index]]

    def _learned(self, index: int) -> tuple[int, int]:
        """How many seeds of either learned the task."""
        (mean, other), (n, m) = self._means(index), self.counts[index]
        return round(mean * n), round(other * m)

    def _tests(self) -> tuple[list[float], list[float | None]]:
        """The p values of both families; Welch's test has nothing to say about learning."""
        first = [1.0] * len(self.samples)
        second: list[float | None] = [None] * len(self.samples)
        for index, sample in enumerate(self.samples):
            if sample.basis is Basis.LEARNING:
                (one, two), (of_one, of_two) = self._learned(index), self.counts[index]
                first[index] = fisher(one, of_one, two, of_two)
        scores = self.sides.of(self.scores)
        for index, p, w in zip(self.scores.tolist(), permutations_of(scores), Welch(scores).p(), strict=True):
            first[index], second[index] = p, w
        return first, second

    def _differences(self) -> list[Difference]:
        gaps = [Difference(one - two) for one, two in map(self._means, range(len(self.samples)))]
        for index, gap in self._intervals(self.scores, 1 - self.alpha):
            gaps[index] = gap
        return gaps

    def _intervals(self, which: Int[np.ndarray, " some"], level: float) -> Iterator[tuple[int, Difference]]:
        found = Welch(self.sides.of(which)).differences(level)
        for index, gap in zip(which.tolist(), found, strict=True):
            yield index, cut(gap, SHARES) if self.samples[index].bounded else gap

    def _alike(self) -> set[int]:
        """Pairs whose difference is settled to be too small to matter.

        The risk of saying so is shared by all pairs that have scores (Bonferroni).
        """
        many = [i for i in self.scores.tolist() if self.samples[i].bounded and min(self.counts[i]) >= ALIKE]
        share = self.alpha / max(len(self.scores), 1)
        gaps = self._intervals(np.array(many, dtype=np.int64), 1 - share)
        return {index for index, gap in gaps if no_difference(gap, min(self.counts[index]))}

    def _outcome(self, index: int, sample: Sample, sure: bool, possible: bool, alike: bool) -> Outcome:
        if sample.at_floor:
            return Outcome.FLOOR
        if sample.basis is Basis.LEARNING and self._means(index) in ((0.0, 0.0), (1.0, 1.0)):
            return Outcome.SAME
        if sure:
            return Outcome.CLAIM
        if not possible:
            return Outcome.FEW_SEEDS
        return Outcome.ALIKE if alike else Outcome.OPEN
