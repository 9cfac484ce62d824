"""Equal items far apart."""

from typing import Annotated, Literal

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.task import MOST_ITEMS, UNSCORED, Batch, Task, letter


class FirstLast(Task):
    """Values and bits: 1 if the first item equals the last, answered at the last: A C B A -> 1. Pairs: for every
    position the distance to the last equal item, 0 if there is none: A B A C B -> . 0 2 0 3."""

    family = "matching"
    variants = ({"mode": "bits"}, {"mode": "pairs"})

    def __init__(
        self,
        *,
        mode: Annotated[
            Literal["values", "bits", "pairs"], Param("first against last, the same on bits, or every pair of equals")
        ] = "values",
        vocabulary: Annotated[
            int | None, Param("different items; none: 16, and 2 for bits", low=2, high=MOST_ITEMS)
        ] = None,
        farthest: Annotated[int, Param("pairs: distances from here on share one answer", low=2, high=MOST_ITEMS)] = 16,
    ) -> None:
        if mode == "bits" and vocabulary not in (None, 2):
            raise InputError(f"first_last on bits has 2 values, got vocabulary={vocabulary}: use mode=values")
        self.mode, self.farthest = mode, farthest
        self.items = vocabulary or (2 if mode == "bits" else 16)
        pairs = mode == "pairs"
        super().__init__(
            vocabulary=self.items, classes=farthest + 1 if pairs else 2, readout="tokens" if pairs else "last",
            most_steps=3000, shortest=2 if mode == "pairs" else 4, because="a first and a last item",
        )  # fmt: skip

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        items = torch.randint(self.items, (count, length), generator=generator)
        if self.mode == "pairs":
            return Batch(items, self._distances(items))
        label = torch.randint(2, (count,), generator=generator)
        first, equal = items[:, 0], label.bool()
        other = (first + torch.randint(1, self.items, (count,), generator=generator)) % self.items
        items[:, -1] = torch.where(equal, first, other)
        if length >= 4:
            # Both values occur twice whatever the label, so that neither counts, nor one end together with counts,
            # reveal the answer: first and last have to be compared. Shorter sequences have no room for it.
            one = torch.randint(length - 2, (count, 1), generator=generator)
            two = (one + torch.randint(1, length - 2, (count, 1), generator=generator)) % (length - 2)
            items.scatter_(1, 1 + one, torch.where(equal, other, first)[:, None])
            items.scatter_(1, 1 + two, other[:, None])
        return Batch(items, label)

    def _distances(self, items: Int[Tensor, "b n"]) -> Int[Tensor, "b n"]:
        """A stable sort puts equal items side by side in their order, so each finds the last one next to itself."""
        values, at = items.sort(dim=1, stable=True)
        distances = at.diff(dim=1).clamp(max=self.farthest).masked_fill(values.diff(dim=1) != 0, 0)
        targets = torch.zeros_like(items).scatter(1, at[:, 1:], distances)
        targets[:, 0] = UNSCORED  # always 0
        return targets

    def chance(self, length: int, split: str = "id") -> float:
        """For pairs: the most frequent answer, from the geometric distribution of distances."""
        if self.mode != "pairs":
            return 0.5
        miss = 1 - 1 / self.items
        nowhere = nearby = far = 0.0
        for t in range(1, length):
            nowhere += miss**t
            nearby += 1 / self.items  # the distance 1; every other below the farthest is rarer
            if t >= self.farthest:
                far += miss ** (self.farthest - 1) - miss**t
        return max(nowhere, nearby, far) / (length - 1)

    def solve(self, tokens: list[int]) -> list[int]:
        if self.mode != "pairs":
            return [int(tokens[0] == tokens[-1])]
        seen, answers = {tokens[0]: 0}, [UNSCORED]
        for t, item in enumerate(tokens[1:], start=1):
            answers.append(min(t - seen[item], self.farthest) if item in seen else 0)
            seen[item] = t
        return answers

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        """The first item; for pairs the last equal one."""
        if self.mode != "pairs":
            return [()] * (len(tokens) - 1) + [(0,)]
        seen: dict[int, int] = {}
        positions: list[tuple[int, ...]] = []
        for t, item in enumerate(tokens):
            positions.append((seen[item],) if item in seen else ())
            seen[item] = t
        return positions

    def example(self) -> list[int]:
        items = [0, 1, 0, 2, 1] if self.mode == "pairs" else [0, 2, 1, 0]
        return [item % self.items for item in items]

    def word(self, token: int) -> str:
        return str(token) if self.mode == "bits" else letter(token)
