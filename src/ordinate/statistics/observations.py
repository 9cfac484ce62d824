"""What all statistics start from: one score of one seed on one range."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Split = Literal["valid", "id", "ood", "shift"]
Direction = Literal["higher", "lower"]
RangeKey = tuple[Split, int]  # a split and a length: one range that scores are taken on

SPLIT_NAMES: dict[str, str] = {"valid": "validation", "id": "ID", "ood": "OOD", "shift": "shifted"}
SPLITS: tuple[Split, ...] = ("valid", "id", "ood", "shift")  # validation chooses learning rates; not a result


def range_name(split: str, length: int) -> str:
    """`OOD length 64`."""
    return f"{SPLIT_NAMES[split]} length {length}"


def trained_length(ranges: Sequence[RangeKey]) -> int | None:
    """The longest length in distribution; reach is counted in multiples of it."""
    return max((length for split, length in ranges if split == "id"), default=None)


def headline(ranges: Sequence[RangeKey]) -> RangeKey:
    """Twice the trained length, or the shortest beyond that, else the longest longer one.

    Where nothing longer is tested: a shifted range, else the longest in distribution.
    """
    longer = sorted(length for split, length in ranges if split == "ood")
    trained = trained_length(ranges)
    if longer:
        far = [length for length in longer if trained is None or length >= 2 * trained]
        return "ood", far[0] if far else longer[-1]
    shifted = [length for split, length in ranges if split == "shift"]
    if shifted:
        return "shift", max(shifted)
    inside = [length for split, length in ranges if split == "id"]
    return ("id", max(inside)) if inside else max(ranges, key=lambda key: key[1])


@dataclass(frozen=True)
class Observation:
    """A run's score on one evaluation set. No score: the encoding cannot go there, or the run diverged."""

    task: str
    encoding: str
    seed: int
    split: Split
    length: int
    score: float | None
    chance: float = 0.0
    floor: float = 0.0  # the best score that needs no order; at least chance
    sequences: int | None = None  # in the evaluation set; none: unknown, so the floor has no band
    bar: float | None = 0.95  # the score at which a task counts as learned; none: no gate and no words
    direction: Direction = "higher"
    diverged: bool = False  # the run as a whole, or the score on this set is NaN
    family: str = ""
    hash: str = ""  # of the evaluation set
    seen: float | None = None  # the share of its sequences that training showed too; none: unknown


@dataclass(frozen=True)
class TaskFacts:
    """What all scores of a task share."""

    name: str
    bar: float | None
    direction: Direction
    family: str = ""
