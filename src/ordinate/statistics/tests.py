"""The tests of a pair: Welch's of scores, on the scale of log error rates, and Fisher's exact test of learning."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Num

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import many_tails, quantiles
from ordinate.statistics.interval import SEQUENCES, finite

ROUNDING = 1e-9  # tables this close are equally likely, computed in another order
BOTH_SCALES = 20  # seeds from which on means must differ as scores too, as they then vary like a normal variable
# Where every seed of one is above every seed of the other by so much, with so many seeds, scores may differ on either
# scale. Of 0.02, 0.05, 0.1, 0.12, 0.15 and 0.2, the smallest that kept half-skewed shapes of six encodings and seeds
# clearly below 5 % of false claims where log error rates alone do (0.1: 5.8 %, 0.12: 5.0 %); with five seeds none did.
APART, APART_SEEDS = 0.15, 6

Values = Sequence[float] | Num[np.ndarray, " _"]  # samples that are compared may differ in size
Each = Float[np.ndarray, " encodings"]
Pairs = Float[np.ndarray, " pairs"]
Numbers = Num[np.ndarray, " pairs"]  # of encodings


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two means, with its interval; one value alone on a side leaves no interval."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Moments:
    """The number, mean and squared standard error of each of several samples."""

    n: Each
    mean: Each
    error: Each  # 0 for a single value

    @classmethod
    def of(cls, samples: Sequence[Values]) -> "Moments":
        """Of samples of finite values, whose order does not matter."""
        ordered = [finite(values, "a test") for values in samples]
        n = np.array([len(values) for values in ordered], dtype=np.float64)
        equal = [values[0] == values[-1] for values in ordered]  # these must not vary by a rounding
        mean = [values[0] if same else values.mean() for values, same in zip(ordered, equal, strict=True)]
        variance = [0.0 if same else values.var(ddof=1) for values, same in zip(ordered, equal, strict=True)]
        return cls(n, np.array(mean, dtype=np.float64), np.array(variance) / np.maximum(n, 1))

    @classmethod
    def of_log_errors(cls, samples: Sequence[Values], sequences: int | None) -> "Moments":
        """Of minus the log error rates of accuracies.

        Near 1, where accuracies are skewed and pile up, their log error rates vary like a normal variable. Half an
        error is added, so that a perfect score has one too. The standard error is at least that of counting errors on
        so many sequences: seeds that all score 1.000 are not known to be equal.
        """
        count = sequences or SEQUENCES
        logs = [
            -np.log((count * (1 - np.asarray(values, dtype=np.float64)) + 0.5) / (count + 0.5)) for values in samples
        ]
        found, raw = cls.of(logs), cls.of(samples)
        errors = 1 - raw.mean
        return cls(found.n, found.mean, np.maximum(found.error, (1 - errors) / (count * errors + 0.5) / found.n))

    def at_least_counted(self, sequences: int | None) -> "Moments":
        """Those of accuracies, with a standard error that is at least that of counting on so many sequences."""
        count = sequences or SEQUENCES
        errors = (count * (1 - self.mean) + 0.5) / (count + 1)
        return Moments(self.n, self.mean, np.maximum(self.error, errors * (1 - errors) / count / self.n))


@dataclass(frozen=True)
class Welch:
    """Welch's test of pairs of samples: difference of means, its standard error, and degrees of freedom."""

    gap: Pairs
    error: Pairs
    freedom: Pairs  # 0 where a side has a single value

    @classmethod
    def of(cls, samples: Moments, one: Numbers, two: Numbers) -> "Welch":
        total = samples.error[one] + samples.error[two]
        below = np.maximum(samples.n - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # no spread on either side: 0 / 0
            share = (samples.error[one] / total) ** 2 / below[one] + (samples.error[two] / total) ** 2 / below[two]
            freedom = np.where(total == 0, math.inf, 1 / share)
        single = np.minimum(samples.n[one], samples.n[two]) < 2
        gap = samples.mean[one] - samples.mean[two]
        return cls(gap, np.where(single, 0.0, np.sqrt(total)), np.where(single, 0.0, freedom))

    @property
    def _tested(self) -> Num[np.ndarray, " some"]:
        return np.flatnonzero((self.freedom > 0) & (self.error > 0))

    def p(self) -> Pairs:
        """Two-sided. Without any spread the test has a limit: the same mean, or certainly not."""
        found, at = np.where((self.freedom == 0) | (self.gap == 0), 1.0, 0.0), self._tested
        found[at] = many_tails(self.gap[at] / self.error[at], self.freedom[at])
        return found

    def differences(self, level: float, bounds: tuple[float, float] | None = None) -> list[Difference]:
        """With their intervals, cut where no difference can lie."""
        half, at = np.zeros(len(self.gap)), self._tested
        half[at] = quantiles((1 + level) / 2, self.freedom[at]) * self.error[at]
        low, high = self.gap - half, self.gap + half
        if bounds:
            low, high = low.clip(*bounds), high.clip(*bounds)
        columns = zip(self.gap.tolist(), (self.freedom > 0).tolist(), low.tolist(), high.tolist(), strict=True)
        return [Difference(gap, least, most) if yes else Difference(gap) for gap, yes, least, most in columns]


def p_of_scores(
    raw: Moments,
    log_errors: Moments,
    extremes: tuple[Each, Each],
    sequences: int | None,
    better: Numbers,
    worse: Numbers,
) -> Pairs:
    """The p of pairs of accuracies, from their moments on both scales and their lowest and highest values.

    That of log error rates; from BOTH_SCALES seeds on the larger of both scales; the smaller of both where all seeds of
    the better are far above all of the worse, as some that reach 1 and some that do not vary too much on a log scale.
    Both means must agree which encoding is better.
    """
    scaled = Welch.of(log_errors, better, worse)
    fewest, (lowest, highest) = np.minimum(raw.n[better], raw.n[worse]), extremes
    apart = (lowest[better] - highest[worse] >= APART) & (fewest >= APART_SEEDS) & (fewest < BOTH_SCALES)
    p, far, many = scaled.p(), np.flatnonzero(apart), np.flatnonzero(fewest >= BOTH_SCALES)
    p[far] = np.minimum(p[far], Welch.of(raw.at_least_counted(sequences), better[far], worse[far]).p())
    p[many] = np.maximum(p[many], Welch.of(raw, better[many], worse[many]).p())
    p[scaled.gap * (raw.mean[better] - raw.mean[worse]) < 0] = 1.0
    return p


def welch(one: Values, two: Values) -> float:
    """How often equal means would differ by so much: two-sided. A single value has no variance: p is 1."""
    return float(Welch.of(Moments.of([one, two]), np.array([0]), np.array([1])).p()[0])


def difference(one: Values, two: Values, level: float, bounds: tuple[float, float] | None = None) -> Difference:
    """One mean minus the other with Welch's interval."""
    return Welch.of(Moments.of([one, two]), np.array([0]), np.array([1])).differences(level, bounds)[0]


@lru_cache(maxsize=1_000_000)
def fisher(one: int, of_one: int, two: int, of_two: int) -> float:
    """Two-sided: how often chance, with as many successes in all, gives a table that is no likelier than this one."""
    if not (0 <= one <= of_one and 0 <= two <= of_two):
        raise InputError(f"successes lie between 0 and all, got {one} of {of_one} and {two} of {of_two}")
    chances = _chances(one + two, of_one, of_two)
    seen = chances[one - max(0, one + two - of_two)]
    return min(1.0, math.fsum(chances[chances <= seen * (1 + ROUNDING)].tolist()))


@lru_cache(maxsize=1_000_000)
def least_fisher_p(successes: int, of_one: int, of_two: int) -> float:
    """The smallest p that so many successes in all can give: as many as possible on one side."""
    fewest, most = max(0, successes - of_two), min(successes, of_one)
    return min(fisher(one, of_one, successes - one, of_two) for one in (fewest, most))


@lru_cache(maxsize=16)
def _chances(successes: int, of_one: int, of_two: int) -> Float[np.ndarray, " tables"]:
    """The hypergeometric probability of each number of successes on the first side, from the fewest on."""
    k = np.arange(max(0, successes - of_two), min(successes, of_one) + 1)
    other = successes - k
    ways = _factorials(of_one)[of_one] - _factorials(of_one)[k] - _factorials(of_one)[of_one - k]
    ways += _factorials(of_two)[of_two] - _factorials(of_two)[other] - _factorials(of_two)[of_two - other]
    everything = math.lgamma(of_one + of_two + 1) - math.lgamma(successes + 1)
    chances: Float[np.ndarray, " tables"] = np.exp(ways - (everything - math.lgamma(of_one + of_two - successes + 1)))
    return chances


@lru_cache(maxsize=16)
def _factorials(n: int) -> Float[np.ndarray, " n"]:
    """The logarithms of 0! to n!."""
    return np.array([math.lgamma(k + 1) for k in range(n + 1)])
