"""What all statistics start from: one score of one seed, and many of them as columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

Split = Literal["valid", "id", "ood", "shift"]
Direction = Literal["higher", "lower"]
RangeKey = tuple[Split, int]  # a split and a length: one range that scores are taken on

SPLIT_NAMES: dict[str, str] = {"valid": "validation", "id": "ID", "ood": "OOD", "shift": "shifted"}
SPLITS: tuple[Split, ...] = ("valid", "id", "ood", "shift")  # validation chooses learning rates; it is no result
UNKNOWN = -1  # in a column of counts


def range_name(split: str, length: int) -> str:
    """`OOD length 64`."""
    return f"{SPLIT_NAMES[split]} length {length}"


def trained_length(places: Sequence[RangeKey]) -> int | None:
    """The longest length in distribution; reach is counted in multiples of it."""
    return max((length for split, length in places if split == "id"), default=None)


def headline(places: Sequence[RangeKey]) -> RangeKey:
    """Twice the trained length, or the shortest beyond that, else the longest longer one.

    Where nothing longer is tested: a shifted range, else the longest in distribution.
    """
    longer = sorted(length for split, length in places if split == "ood")
    trained = trained_length(places)
    if longer:
        far = [length for length in longer if trained is None or length >= 2 * trained]
        return "ood", far[0] if far else longer[-1]
    shifted = [length for split, length in places if split == "shift"]
    if shifted:
        return "shift", max(shifted)
    inside = [length for split, length in places if split == "id"]
    return ("id", max(inside)) if inside else max(places, key=lambda place: place[1])


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
    diverged: bool = False  # the run as a whole, or the score on this set is no number
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


@dataclass(frozen=True)
class Observations:
    """The same as columns, in which millions of rows fit; names are numbered as they come."""

    tasks: tuple[TaskFacts, ...]
    encodings: tuple[str, ...]
    task: Int[np.ndarray, " n"]
    encoding: Int[np.ndarray, " n"]
    seed: Int[np.ndarray, " n"]
    split: Int[np.ndarray, " n"]  # which of SPLITS
    length: Int[np.ndarray, " n"]
    score: Float[np.ndarray, " n"]  # NaN: none
    diverged: Bool[np.ndarray, " n"]
    chance: Float[np.ndarray, " n"]
    floor: Float[np.ndarray, " n"]
    sequences: Int[np.ndarray, " n"]  # UNKNOWN: none
    hash: Int[np.ndarray, " n"] | None = None  # numbered too; none: nobody knows
    seen: Float[np.ndarray, " n"] | None = None

    def __len__(self) -> int:
        return len(self.score)

    @classmethod
    def of(cls, items: Sequence[Observation]) -> "Observations":
        """Columns of rows."""
        tasks = {item.task: TaskFacts(item.task, item.bar, item.direction, item.family) for item in reversed(items)}
        names: dict[str, int] = {}
        encodings: dict[str, int] = {}
        hashes: dict[str, int] = {}
        return cls(
            task=_whole(names.setdefault(item.task, len(names)) for item in items),
            encoding=_whole(encodings.setdefault(item.encoding, len(encodings)) for item in items),
            hash=_whole(hashes.setdefault(item.hash, len(hashes)) for item in items),
            tasks=tuple(tasks[name] for name in names),
            encodings=tuple(encodings),
            seed=_whole(item.seed for item in items),
            split=_whole(SPLITS.index(item.split) for item in items),
            length=_whole(item.length for item in items),
            score=_real(item.score for item in items),
            diverged=np.array([item.diverged for item in items], dtype=bool),
            chance=_real(item.chance for item in items),
            floor=_real(item.floor for item in items),
            sequences=_whole(UNKNOWN if item.sequences is None else item.sequences for item in items),
            seen=_real(item.seen for item in items),
        )


def _whole(values: Iterable[int]) -> Int[np.ndarray, " n"]:
    return np.fromiter(values, dtype=np.int64)


def _real(values: Iterable[float | None]) -> Float[np.ndarray, " n"]:
    return np.fromiter((np.nan if value is None else value for value in values), dtype=np.float64)
