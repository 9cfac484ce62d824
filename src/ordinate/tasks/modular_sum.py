"""Sums of everything so far."""

from typing import Annotated

import torch

from ordinate.core.parameters import Param
from ordinate.core.task import UNSCORED, Batch, Task


class ModularSum(Task):
    """For every position the sum of all earlier numbers modulo a base. The first answer is always 0 and is not
    scored: 3 1 4 -> . 3 4."""

    family = "counting"

    def __init__(self, *, base: Annotated[int, Param("numbers and sums run from 0 to base - 1", low=2)] = 10) -> None:
        # The causal mask tells which numbers are earlier, and a sum does not ask for their order.
        super().__init__(vocabulary=base, classes=base, evaluation_lengths=(32, 64), shortest=2, needs_order=False)
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

    def example(self) -> list[int]:
        return [number % self.base for number in (3, 1, 4)]
