"""A template with a progression in it."""

import math
from typing import Annotated

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import pad

from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.task import MOST_ITEMS, UNSCORED, Batch, Task

PADDING, START, MIDDLE, END = range(4)  # values use these ids too: only the position distinguishes them

HELD_OUT = 5


class Markers(Task):
    """Predict the next token of a fixed template: start marker, the first terms of an arithmetic progression, middle
    marker, its further terms, end marker, zero padding: 1 5 8 2 11 14 17 3 0 0. A number is a marker or a value by its
    position alone. The score leaves padding out; markers, values and padding are reported apart."""

    family = "position"

    def __init__(
        self,
        *,
        vocabulary: Annotated[int, Param("values run from 1 to vocabulary - 1", low=5, high=MOST_ITEMS)] = 128,
        first: Annotated[int, Param("terms before the middle marker", low=2)] = 4,
        rest: Annotated[int, Param("terms after it", low=1)] = 8,
    ) -> None:
        terms = first + rest
        if vocabulary <= terms:
            raise InputError(f"markers needs a vocabulary above {terms} for its {terms} terms, got {vocabulary}")
        self.first, self.rest = first, rest
        # Every rising progression that fits, each equally likely: how many there are with a step of 1, of up to 2, ...
        self.counts = torch.arange(vocabulary - terms, 0, 1 - terms).cumsum(dim=0)
        super().__init__(
            vocabulary=vocabulary, classes=vocabulary, metric="loss", train_lengths=(32, 32), longer=(),
            shortest=terms + 3, because=f"{terms} terms and 3 markers", dataset=5000,
        )  # fmt: skip

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        a, d = self._progression(self._drawn(count, generator, split))
        values = a[:, None] + d[:, None] * torch.arange(self.first + self.rest)
        start, middle, end = (torch.full((count, 1), marker) for marker in (START, MIDDLE, END))
        content = torch.cat((start, values[:, : self.first], middle, values[:, self.first :], end), dim=1)
        tokens = pad(content, (0, length - content.shape[1]), value=PADDING)
        return Batch(tokens, pad(tokens[:, 1:], (0, 1), value=UNSCORED))

    def _drawn(self, count: int, generator: torch.Generator, split: str) -> Int[Tensor, " b"]:
        """A few hundred progressions are all there are: every fifth is kept for evaluation (S0's 80 and 20 %)."""
        held = (int(self.counts[-1]) - 1) // HELD_OUT + 1
        if split != "train":
            return HELD_OUT * torch.randint(held, (count,), generator=generator)
        drawn = torch.randint(int(self.counts[-1]) - held, (count,), generator=generator)
        return drawn + drawn // (HELD_OUT - 1) + 1

    def _progression(self, index: Int[Tensor, " b"]) -> tuple[Int[Tensor, " b"], Int[Tensor, " b"]]:
        """First term and step of the progressions with these numbers, counted by step and then by first term."""
        below = torch.searchsorted(self.counts, index, right=True)
        before = pad(self.counts, (1, 0))[below]
        return index - before + 1, below + 1

    def groups(self, tokens: Int[Tensor, "b n"], targets: Int[Tensor, "b n"]) -> dict[str, Bool[Tensor, "b n"]]:
        at = torch.arange(1, tokens.shape[1] + 1).expand_as(tokens)  # the target's position: one past the token's
        end = self.first + self.rest + 2
        marker, content = (at == self.first + 1) | (at == end), (at <= end) & (targets != UNSCORED)
        padding = (at > end) & (targets != UNSCORED)
        return {"content": content, "marker": marker & content, "value": content & ~marker, "padding": padding}

    def chance(self, length: int, split: str = "id") -> float:
        return math.log(self.classes)

    def solve(self, tokens: list[int]) -> list[int]:
        """Everything follows from the first two values."""
        step = tokens[2] - tokens[1]
        values = [tokens[1] + step * i for i in range(self.first + self.rest)]
        whole = [START, *values[: self.first], MIDDLE, *values[self.first :], END]
        whole += [PADDING] * (len(tokens) - len(whole))
        return [*whole[1:], UNSCORED]

    def example(self) -> list[int]:
        a, d = (int(part) for part in self._progression(self.counts[-1:] // 2))
        values = [a + d * i for i in range(self.first + self.rest)]
        return [START, *values[: self.first], MIDDLE, *values[self.first :], END, PADDING]
