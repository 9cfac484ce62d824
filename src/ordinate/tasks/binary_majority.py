"""The more frequent of two symbols."""

import torch
from torch.nn.functional import pad

from ordinate.core.task import Batch, Task

ASK = 2  # the read-out token after the bits


class BinaryMajority(Task):
    """The more frequent bit, answered at a read-out token: 0 1 1 0 1 ? -> 1. Any number of zeros is equally likely, but
    there are no ties. Order plays no part, so every encoding should solve it: a positive control."""

    family = "counting"

    def __init__(self) -> None:
        super().__init__(
            vocabulary=3, classes=2, readout="last", needs_order=False, positive_control=True, specials={ASK: "?"}
        )

    def sides(self, length: int) -> tuple[int, ...]:
        return (length + 1,)

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        even = length % 2 == 0
        zeros = torch.randint(length if even else length + 1, (count, 1), generator=generator)
        if even:
            zeros += zeros >= length // 2  # steps over the tie
        order = torch.rand(count, length, generator=generator).argsort(dim=1)
        bits = (order >= zeros).long()
        return Batch(pad(bits, (0, 1), value=ASK), (2 * zeros[:, 0] < length).long())

    def chance(self, length: int, split: str = "id") -> float:
        return 0.5

    def solve(self, tokens: list[int]) -> list[int]:
        return [int(tokens.count(1) > tokens.count(0))]

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        return [()] * (len(tokens) - 1) + [tuple(range(len(tokens) - 1))]

    def example(self) -> list[int]:
        return [0, 1, 1, 0, 1, ASK]
