"""How far what was learned holds, and how long learning took."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low


@dataclass(frozen=True)
class Reach:
    """Of one encoding, in multiples of the trained length."""

    seeds: tuple[float | None, ...]  # by seed: up to where every tested length is at the bar; none: not learned
    longest: float  # tested, of any encoding
    untested: int = 0  # seeds that end where they have no score and not where they fail

    @property
    def learned(self) -> tuple[float, ...]:
        return tuple(sorted(value for value in self.seeds if value is not None))

    @property
    def median(self) -> float | None:
        """Of the seeds that learned the task: the lower one of two, so that it is a length that was tested."""
        return median_low(self.learned) if self.learned else None

    @property
    def low(self) -> float | None:
        return min(self.learned, default=None)

    @property
    def high(self) -> float | None:
        return max(self.learned, default=None)


def reach(scores: Sequence[tuple[int, float | None]], bar: float, trained: int) -> float:
    """Of a seed that learned the task. `scores` by length; none: the encoding cannot go there, or has no score."""
    furthest = 0
    for length, score in sorted(scores, key=lambda item: item[0]):
        if score is None or score < bar:
            break
        furthest = length
    return furthest / trained


@dataclass(frozen=True)
class Steps:
    """Steps that the seeds of one encoding took to learn a task; none: more than its budget."""

    seeds: tuple[int | None, ...]
    budget: int

    @property
    def _sorted(self) -> list[int]:
        return sorted(self.budget + 1 if step is None else step for step in self.seeds)

    def _within(self, step: int) -> int | None:
        return step if step <= self.budget else None

    @property
    def median(self) -> int | None:
        """The lower one of two."""
        return self._within(median_low(self._sorted))

    @property
    def low(self) -> int | None:
        return self._within(self._sorted[0])

    @property
    def high(self) -> int | None:
        return self._within(self._sorted[-1])
