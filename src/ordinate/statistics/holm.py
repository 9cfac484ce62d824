"""Many tests at once: their correction, and how many seeds a claim needs."""

import math
from collections.abc import Iterable, Sequence

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import quantile

FEWEST_SEEDS = 5  # for a claim about scores: with 4, one in ten studies of equal bimodal encodings has a false one
LARGE_EFFECT = 3.0  # standard deviations that a planned comparison can detect


def holm(p: Sequence[float], least: Sequence[float] | None = None, alpha: float = 0.05) -> list[float]:
    """Corrected p values, in the order given: those below alpha have a risk of alpha that any of them is false.

    Holm (1979), and where `least` gives the smallest p that each test can give, with Tarone's (1990) idea: a test that
    cannot reach its threshold cannot raise a false claim, so it need not be counted. The number of tests becomes
    K, the smallest k such that no more than k tests have a least p below alpha / k; it is found again for those that
    are left whenever one is claimed (Hommel and Krummenauer 1998). With `least` at 0, K is the number of those left.
    """
    if not all(0 <= value <= 1 for value in p):
        raise InputError(f"p values lie between 0 and 1, got {', '.join(f'{value:g}' for value in p)}")
    counter = _Counter([0.0] * len(p) if least is None else least, alpha)
    corrected, largest = [0.0] * len(p), 0.0
    for index in sorted(range(len(p)), key=lambda index: p[index]):
        largest = max(largest, min(1.0, counter.count * p[index]))
        corrected[index] = largest
        counter.leave_out(index)
    return corrected


def effective_number(least: Sequence[float], alpha: float = 0.05) -> int:
    """Tarone's K: how many tests share alpha when those with these smallest p values are made."""
    return _Counter(least, alpha).count


class _Counter:
    """Tarone's K while tests leave the family, in linear time: K never grows."""

    def __init__(self, least: Sequence[float], alpha: float) -> None:
        size = len(least)
        # Among how many tests each can still be claimed.
        self.among = [size if value * size < alpha else _among(value, alpha) for value in least]
        self.histogram = [0] * (size + 1)
        for count in self.among:
            self.histogram[count] += 1
        self.count, self.able = max(size, 1), self.histogram[size] if size else 0
        self._shrink()

    def leave_out(self, index: int) -> None:
        self.histogram[self.among[index]] -= 1
        self.able -= self.among[index] >= self.count
        self._shrink()

    def _shrink(self) -> None:
        while self.count > 1 and self.able + self.histogram[self.count - 1] <= self.count - 1:
            self.count -= 1
            self.able += self.histogram[self.count]


def _among(least: float, alpha: float) -> int:
    most = int(alpha / least)
    return most if most * least < alpha else most - 1


def score_tests(encodings: Iterable[int], endpoints: int) -> int:
    """All tests of scores of a comparison: `encodings` gives how many each of its tasks has."""
    return endpoints * sum(count * (count - 1) // 2 for count in encodings)


def seeds_needed(tests: int, alpha: float = 0.05) -> int:
    """The fewest seeds with which an encoding that is better by three standard deviations is claimed to be so."""
    if tests < 1:
        raise InputError(f"a claim is about at least one pair of encodings, got {tests}")
    if not 0 < alpha <= 1:
        raise InputError(f"the risk of a false claim (alpha) lies between 0 and 1, got {alpha}")
    seeds = FEWEST_SEEDS
    while LARGE_EFFECT * math.sqrt(seeds / 2) < -quantile(alpha / tests / 2, 2.0 * seeds - 2):
        seeds += 1
    return seeds
