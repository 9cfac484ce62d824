"""What all statistics start from: one score of one seed."""

from dataclasses import dataclass
from typing import Literal

Split = Literal["valid", "id", "ood", "shift"]
Direction = Literal["higher", "lower"]
RangeKey = tuple[Split, int]  # a split and a length: one range that scores are taken on

SPLIT_NAMES: dict[str, str] = {"valid": "validation", "id": "in distribution", "ood": "longer", "shift": "shifted"}


def range_name(split: str, length: int) -> str:
    """`longer 64`."""
    return f"{SPLIT_NAMES[split]} {length}"


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
    bar: float | None = 0.95  # the score at which a task counts as learnt; none: no gate and no words
    direction: Direction = "higher"
    diverged: bool = False  # the run as a whole, or the score on this set is no number
    family: str = ""
    hash: str = ""  # of the evaluation set
    seen: float | None = None  # the share of its sequences that training showed too; none: unknown
