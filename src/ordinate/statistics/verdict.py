"""The word for one run, decided in a fixed order."""

from dataclasses import dataclass
from typing import Literal

from ordinate.statistics.band import band

Word = Literal["diverged", "at chance", "did not fit", "out of range", "solves", "partial", "fits"]


@dataclass(frozen=True)
class Score:
    """A score with what it must be seen against. `value` is None where the encoding cannot go."""

    value: float | None
    floor: float
    sequences: int | None = None  # none: unknown, so the floor has no band

    @property
    def above_floor(self) -> bool:
        """Whether a guesser at the floor would score this only once in forty sets of so many sequences."""
        if self.value is None:
            return False
        return self.value > (self.floor if self.sequences is None else band(self.floor, self.sequences)[1])


def word(bar: float, inside: Score, outside: Score | None, *, diverged: bool = False) -> Word:
    """In distribution first: who diverged, sits at the floor or did not fit has nothing to say about other ranges.

    Without `outside` the answer is about the training range alone: `solves` means that the run fitted.
    """
    if diverged:
        return "diverged"
    if not inside.above_floor:
        return "at chance"
    if inside.value is None or inside.value < bar:
        return "did not fit"
    if outside is None:
        return "solves"
    if outside.value is None:
        return "out of range"
    if outside.value >= bar:
        return "solves"
    return "partial" if outside.above_floor else "fits"


def normalised(value: float, chance: float) -> float:
    """0 at chance, 1 when all is right."""
    return (value - chance) / (1 - chance)
