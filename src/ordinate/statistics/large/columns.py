"""Observations as columns of numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ordinate.statistics.observations import SPLITS, Observation, TaskFacts

UNKNOWN = -1  # in a column of counts


@dataclass(frozen=True)
class Observations:
    """Many observations as columns, in which millions of rows fit; names are numbered as they come."""

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
    hash: Int[np.ndarray, " n"] | None = None  # numbered too; none: unknown
    seen: Float[np.ndarray, " n"] | None = None

    def __len__(self) -> int:
        return len(self.score)

    def rows(self) -> list[Observation]:
        """The same as one object for each score."""
        columns = (
            self.task, self.encoding, self.seed, self.split, self.length, self.score, self.chance, self.floor,
            self.sequences, self.diverged,
            np.zeros(len(self), dtype=np.int64) if self.hash is None else self.hash,
            np.full(len(self), np.nan) if self.seen is None else self.seen,
        )  # fmt: skip
        found = []
        for task, encoding, seed, split, length, score, chance, floor, sequences, diverged, digest, seen in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            facts = self.tasks[task]
            found.append(
                Observation(
                    facts.name, self.encodings[encoding], seed, SPLITS[split], length,
                    None if score != score else score, chance, floor,
                    None if sequences == UNKNOWN else sequences, facts.bar, facts.direction, diverged, facts.family,
                    str(digest), None if seen != seen else seen,
                )
            )  # fmt: skip
        return found

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
