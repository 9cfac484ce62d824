"""Copying a list."""

import math
from typing import Annotated

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.parameters import Param
from ordinate.core.task import MOST_ITEMS, UNSCORED, Batch, Task

SHUFFLED = 2**22  # items that are put into a random order at once


class CopyUnique(Task):
    """Copy a list of different tokens. Every token occurs once, so each determines the next one:
    < 7 2 5 | 7 2 5 -> . . . . 7 2 5 >, where < starts, | separates and > ends. A copy counts if all of it is right."""

    family = "copying"

    def __init__(
        self,
        *,
        vocabulary: Annotated[int, Param("different items, and so the longest list", low=2, high=MOST_ITEMS)] = 64,
    ) -> None:
        self.items = vocabulary
        self.start, self.separator, self.end = range(vocabulary, vocabulary + 3)
        super().__init__(
            vocabulary=vocabulary + 3, classes=vocabulary + 3, metric="exact", most_steps=3000, train_lengths=(1, 20),
            longer=(25, 30, 40, 60), longest=vocabulary, because=f"of {vocabulary} different items",
            specials={self.start: "<", self.separator: "|", self.end: ">"},
        )  # fmt: skip

    def sides(self, length: int) -> tuple[int, ...]:
        return (2 * length + 2,)

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        items = torch.cat([self._shuffled(rows, generator)[:, :length] for rows in self._few_at_a_time(count)])
        start, separator, end = (torch.full((count, 1), s) for s in (self.start, self.separator, self.end))
        tokens = torch.cat((start, items, separator, items), dim=1)
        unscored = torch.full((count, length + 1), UNSCORED)
        return Batch(tokens, torch.cat((unscored, items, end), dim=1))

    def _shuffled(self, count: int, generator: torch.Generator) -> Int[Tensor, "count items"]:
        return torch.rand(count, self.items, generator=generator).argsort(dim=1)

    def _few_at_a_time(self, count: int) -> list[int]:
        """A thousand shuffles of a million items would take 20 GB at once; in parts they are the same."""
        most = max(1, SHUFFLED // self.items)
        return [min(most, count - start) for start in range(0, count, most)]

    def chance(self, length: int, split: str = "id") -> float:
        """One of all lists without repetition; for long ones this underflows to 0."""
        return 1 / math.perm(self.items, length) if length < 200 else 0.0

    def solve(self, tokens: list[int]) -> list[int]:
        items = tokens[1 : tokens.index(self.separator)]
        return [UNSCORED] * (len(items) + 1) + items + [self.end]

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        """The token after the equal one in the list, and the first of the list at the separator."""
        middle = tokens.index(self.separator)
        return [(t - middle + 1,) if t >= middle else () for t in range(len(tokens))]

    def example(self) -> list[int]:
        items = [7, 2, 5] if self.items > 7 else [1, 0]
        return [self.start, *items, self.separator, *items]

    def answer(self, target: int) -> str:
        return self.word(target)
