"""Sums of everything so far."""

from typing import Annotated

import torch

from ordinate.core.parameters import Param
from ordinate.core.task import MOST_ITEMS, UNSCORED, Batch, Task


class ModularSum(Task):
    """For every position the sum of all earlier numbers modulo a base. The first answer is always 0 and is not
    scored: 3 1 4 -> . 3 4. Up to base 5 it is trained at lengths 2 to 8; longer or larger sums are not learned in a
    few thousand steps, so larger bases, trained at 8 to 32, serve as a negative control."""

    family = "counting"

    def __init__(
        self, *, base: Annotated[int, Param("numbers and sums run from 0 to base - 1", low=2, high=MOST_ITEMS)] = 5
    ) -> None:
        # The causal mask shows which numbers are earlier, and a sum does not depend on their order.
        easy = base <= 5
        super().__init__(
            vocabulary=base, classes=base, shortest=2, needs_order=False, most_steps=3000,
            train_lengths=(2, 8) if easy else (8, 32), longer=(12, 16) if easy else None,
        )  # fmt: skip
        self.base = base

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        tokens = torch.randint(self.base, (count, length), generator=generator)
        targets = (tokens.cumsum(dim=1) - tokens) % self.base
        targets[:, 0] = UNSCORED
        return Batch(tokens, targets)

    def chance(self, length: int, split: str = "id") -> float:
        return 1 / self.base

    def solve(self, tokens: list[int]) -> list[int]:
        return [UNSCORED] + [sum(tokens[:t]) % self.base for t in range(1, len(tokens))]

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        return [tuple(range(t)) for t in range(len(tokens))]

    def example(self) -> list[int]:
        return [number % self.base for number in (3, 1, 4)]
