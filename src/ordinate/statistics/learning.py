"""Whether a run learned its task, how long that took, and how its training ended if it did not.

There is one definition: a run learned the task if its final score in distribution is at the bar (`words.word`). The
course of training tells why another one did not: it was still rising at the end of its budget, or it had been at the
bar and lost it again.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low

from ordinate.statistics.words import Word

RISE = 0.01  # of the score, by which a learning curve has to rise
LAST_PART = 5  # the last fifth of a learning curve is compared with the fifth before


@dataclass(frozen=True, slots=True)
class TrainingEnd:
    """How the training of one seed ended."""

    seed: int
    word: Word  # of the final score in distribution
    score: float | None  # that score
    steps: int  # taken
    reached: int | None = None  # the step at which its validation score reached the bar, whether it stayed or not

    @property
    def learned(self) -> bool:
        return self.word is Word.SOLVES

    @property
    def learned_at(self) -> int | None:
        """The step at which it reached the bar; the last one if only the final score is at it; none: not learned."""
        return (self.reached or self.steps) if self.learned else None


def ended(word: Word, reached: int | None, curve: Sequence[float]) -> Word:
    """The word of a run's final score, with why it did not fit. `curve`: its validation scores by step."""
    if word is not Word.DID_NOT_FIT:
        return word
    if reached is not None:
        return Word.LOST_AGAIN
    return Word.STILL_RISING if _rising(curve) else word


def _rising(curve: Sequence[float]) -> bool:
    part = max(1, len(curve) // LAST_PART)
    last, before = curve[-part:], curve[-2 * part : -part]
    return bool(before) and sum(last) / len(last) > sum(before) / len(before) + RISE


@dataclass(frozen=True)
class Steps:
    """The training of the seeds of one encoding: the steps that learning took, within a budget."""

    ends: tuple[TrainingEnd, ...]
    budget: int
    fastest: tuple[str, int] | None = None  # the encoding, and its steps, of which the budget is a multiple

    @property
    def seeds(self) -> tuple[int | None, ...]:
        """The steps of each seed; none: it did not learn the task."""
        return tuple(end.learned_at for end in self.ends)

    @cached_property
    def words(self) -> Counter[Word]:
        """How many seeds ended how, the most frequent first."""
        return Counter(end.word for end in self.ends)

    @property
    def rising(self) -> bool:
        """Whether most seeds were still rising at the end of the budget."""
        return self.mostly(Word.STILL_RISING)

    def mostly(self, word: Word) -> bool:
        return 2 * self.words[word] > len(self.ends)

    @property
    def _sorted(self) -> list[int]:
        return sorted(self.budget + 1 if step is None else step for step in self.seeds)

    def _within(self, step: int) -> int | None:
        return step if step <= self.budget else None

    @property
    def median(self) -> int | None:
        """The lower one of two; none: more than the budget."""
        return self._within(median_low(self._sorted))

    @property
    def interval(self) -> tuple[int | None, int | None]:
        """The fewest and the most."""
        return self._within(self._sorted[0]), self._within(self._sorted[-1])
