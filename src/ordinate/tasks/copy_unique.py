"""Writing down once more what was read."""

import math
from typing import Annotated

import torch

from ordinate.core.parameters import Param
from ordinate.core.task import UNSCORED, Batch, Task


class CopyUnique(Task):
    """Copy a list of different tokens. Every token occurs once, so each tells which one comes next:
    < 7 2 5 | 7 2 5 -> . . . . 7 2 5 >, where < starts, | separates and > ends. A copy counts if all of it is right."""

    family = "copying"

    def __init__(
        self, *, vocabulary: Annotated[int, Param("different items, and so the longest list", low=2)] = 64
    ) -> None:
        self.items = vocabulary
        self.start, self.separator, self.end = range(vocabulary, vocabulary + 3)
        super().__init__(
            vocabulary=vocabulary + 3,
            classes=vocabulary + 3,
            metric="exact",
            most_steps=3000,
            train_lengths=(1, 20),
            longer=(25, 30, 40, 60),
            longest=vocabulary,
            because=f"of {vocabulary} different items",
            specials={self.start: "<", self.separator: "|", self.end: ">"},
        )

    def sides(self, length: int) -> tuple[int, ...]:
        return (2 * length + 2,)

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        items = torch.rand(count, self.items, generator=generator).argsort(dim=1)[:, :length]
        start, separator, end = (torch.full((count, 1), s) for s in (self.start, self.separator, self.end))
        tokens = torch.cat((start, items, separator, items), dim=1)
        unscored = torch.full((count, length + 1), UNSCORED)
        return Batch(tokens, torch.cat((unscored, items, end), dim=1))

    def chance(self, length: int, split: str = "id") -> float:
        """One of all lists without repetition."""
        return 1 / math.perm(self.items, length)

    def solve(self, tokens: list[int]) -> list[int]:
        items = tokens[1 : tokens.index(self.separator)]
        return [UNSCORED] * (len(items) + 1) + items + [self.end]

    def example(self) -> list[int]:
        items = [7, 2, 5] if self.items > 7 else [1, 0]
        return [self.start, *items, self.separator, *items]

    def answer(self, target: int) -> str:
        return self.word(target)
