"""The word for one run on one range, decided in a fixed order."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from ordinate.statistics.distributions import band
from ordinate.statistics.observations import Split


class Word(StrEnum):
    """What one seed did. Out of distribution only a seed that learned the task has more to say than that it did not."""

    DIVERGED = "diverged"
    AT_CHANCE = "at chance"  # in distribution inside the floor's band
    DID_NOT_FIT = "did not fit"  # in distribution below the bar
    OUT_OF_RANGE = "out of range"  # the encoding cannot go there
    SOLVES = "solves"  # at the bar
    PARTIAL = "partial"  # above the floor's band
    FITS = "fits"  # learned in distribution, at the floor there
    UNKNOWN = "not scored in distribution"  # so whether it learned the task is unknown
    # Of a run that did not fit, where the course of its training is known (see `learning`):
    STILL_RISING = "still rising"  # below the bar at the end of its budget, and still improving
    LOST_AGAIN = "lost again"  # at the bar on the way, below it at the end


NOT_FITTED = (Word.DID_NOT_FIT, Word.STILL_RISING, Word.LOST_AGAIN)  # above the floor, below the bar in distribution
FAILED = (Word.DIVERGED, Word.AT_CHANCE, *NOT_FITTED)  # words of a seed that did not learn the task, or broke down


@dataclass(frozen=True)
class Score:
    """A score with what it must be seen against. `value` is None where the encoding cannot go, or diverged."""

    value: float | None
    floor: float
    sequences: int | None = None  # none: unknown, so the floor has no band
    diverged: bool = False

    @property
    def above_floor(self) -> bool:
        """Whether a guesser at the floor would score this only once in forty sets of so many sequences."""
        if self.value is None:
            return False
        return self.value > (self.floor if self.sequences is None else band(self.floor, self.sequences)[1])


def word(bar: float, inside: Score, outside: Score | None, *, diverged: bool = False) -> Word:
    """In distribution first: who diverged, sits at the floor or did not fit has nothing to say about other ranges.

    Without `outside` the answer is about the training range alone: `solves` means that the run learned the task.
    """
    if diverged or inside.diverged or (outside is not None and outside.diverged):
        return Word.DIVERGED
    if inside.value is None:
        return Word.UNKNOWN
    if not inside.above_floor:
        return Word.AT_CHANCE
    if inside.value < bar:
        return Word.DID_NOT_FIT
    if outside is None:
        return Word.SOLVES
    if outside.value is None:
        return Word.OUT_OF_RANGE
    if outside.value >= bar:
        return Word.SOLVES
    return Word.PARTIAL if outside.above_floor else Word.FITS


@runtime_checkable
class ScoredRow(Protocol):
    """One score of a run, with what it must be seen against."""

    @property
    def split(self) -> Split: ...
    @property
    def length(self) -> int: ...
    @property
    def score(self) -> float | None: ...
    @property
    def floor(self) -> float: ...
    @property
    def sequences(self) -> int: ...


def words_of(rows: Sequence[ScoredRow], bar: float | None, diverged: bool = False) -> list[Word | None]:
    """The words of one run, one for each of its rows, from its scores alone.

    Rows of `ood` and `shift` are judged by the longest row of `id` first, and unknown without one; all others by
    themselves. A task scored by loss (no bar) has no words.
    """
    if bar is None:
        return [None] * len(rows)
    start = max((row for row in rows if row.split == "id"), key=lambda row: row.length, default=None)
    words: list[Word | None] = []
    for row in rows:
        if row.split not in ("ood", "shift"):
            words.append(word(bar, _score(row), None, diverged=diverged))
        else:
            inside = Score(None, 0.0) if start is None else _score(start)
            words.append(word(bar, inside, _score(row), diverged=diverged))
    return words


def _score(row: ScoredRow) -> Score:
    return Score(row.score, row.floor, row.sequences)


def normalized(value: float, chance: float) -> float:
    """0 at chance, 1 when all is right."""
    return (value - chance) / (1 - chance)
