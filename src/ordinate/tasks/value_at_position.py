"""Values that count only at given positions."""

from typing import Annotated

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.parameters import Param
from ordinate.core.task import MOST_ITEMS, Batch, Task

# For every class two positions, counted from 0, and their values, as the document S1 states them.
RULES = (((3, 5), (7, 8)), ((5, 3), (10, 9)), ((15, 7), (20, 4)))


class ValueAtPosition(Task):
    """Classify a sequence by two values at two positions. Class 0 has value 5 at position 3 and 8 at 7, class 1
    has 3 at 5 and 9 at 10, class 2 has 7 at 15 and 4 at 20. Balanced: the values of the other classes occur too, at
    wrong positions, so that counts of tokens reveal nothing."""

    family = "position"
    variants = ({"balanced": False},)

    def __init__(
        self,
        *,
        balanced: Annotated[
            bool, Param("all six values in every sequence; false: as published, where counts give answers away")
        ] = True,
        vocabulary: Annotated[int, Param("different values", low=10, high=MOST_ITEMS)] = 20,
    ) -> None:
        super().__init__(
            vocabulary=vocabulary, classes=len(RULES), form="bidirectional", readout="mean", train_lengths=(32, 32),
            shortest=1 + max(position for rule in RULES for position, _ in rule), because="it reads position 20",
            dataset=5000,
        )  # fmt: skip
        self.balanced = balanced
        self.places, self.values = torch.tensor(RULES).flatten(0, 1).unbind(dim=1)
        named = set(self.values.tolist())
        self.fillers = torch.tensor([value for value in range(vocabulary) if value not in named])

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        label = torch.randint(len(RULES), (count,), generator=generator)
        make = self._balanced if self.balanced else self._stated
        return make(label, length, generator)

    def _balanced(self, label: Int[Tensor, " b"], length: int, generator: torch.Generator) -> Batch:
        """Overwrite six positions with the six values, whatever the class; no other position holds them."""
        tokens = self.fillers[torch.randint(len(self.fillers), (len(label), length), generator=generator)]
        own = self.places.view(len(RULES), -1)[label]
        # All positions in random order, the class's own last. A value drawn to its right position takes a spare one.
        order = torch.rand(tokens.shape, generator=generator).scatter(1, own, 2.0).argsort(dim=1)
        drawn, spare = order[:, : len(self.places)], order[:, len(self.places) : 2 * len(self.places)]
        wrong = torch.where(drawn == self.places, spare, drawn)
        mine = torch.arange(len(RULES)).repeat_interleave(2) == label[:, None]
        at = torch.where(mine, self.places, wrong)
        return Batch(tokens.scatter(1, at, self.values.expand_as(at)), label)

    def _stated(self, label: Int[Tensor, " b"], length: int, generator: torch.Generator) -> Batch:
        tokens = torch.randint(self.vocabulary, (len(label), length), generator=generator)
        for name, ((one, first), (two, second)) in enumerate(RULES):
            mine = label == name
            # another class must not come about by accident, else the sequence would have two answers
            accident = ~mine & (tokens[:, one] == first) & (tokens[:, two] == second)
            instead = (second + torch.randint(1, self.vocabulary, label.shape, generator=generator)) % self.vocabulary
            tokens[:, one] = torch.where(mine, first, tokens[:, one])
            tokens[:, two] = torch.where(mine, second, torch.where(accident, instead, tokens[:, two]))
        return Batch(tokens, label)

    def chance(self, length: int, split: str = "id") -> float:
        return 1 / len(RULES)

    def solve(self, tokens: list[int]) -> list[int]:
        return [name for name, rule in enumerate(RULES) if all(tokens[position] == value for position, value in rule)]

    def example(self) -> list[int]:
        tokens = [0] * self.shortest
        for position, value in ((3, 5), (7, 8), (1, 3), (6, 9), (12, 7), (18, 4)):
            tokens[position] = value
        return tokens

    def answer(self, target: int) -> str:
        return f"class {target}"
