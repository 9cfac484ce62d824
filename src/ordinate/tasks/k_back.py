"""The item a fixed number of steps ago."""

from typing import Annotated, Literal

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.task import MOST_ITEMS, UNSCORED, Batch, Task, letter


class KBack(Task):
    """Recall: for every position the item k steps back. Match: whether the item k steps back is the same as this one,
    which is so in half of the positions. The first k positions have no such item and are not scored. With k = 2:
    A B C B D B -> . . A B C B (recall) or . . 0 1 0 1 (match)."""

    family = "distance"
    variants = ({"mode": "match"}, {"k": (1, 3, 8)}, {"k": (2, 5), "mode": "match"})

    def __init__(
        self,
        *,
        mode: Annotated[
            Literal["recall", "match"], Param("name the item k back, or say whether it is equal")
        ] = "recall",
        k: Annotated[
            int | tuple[int, ...],
            Param("steps back; of a list, each sequence draws one and is given it as a prefix token", low=1),
        ] = 3,
        vocabulary: Annotated[int, Param("different items", low=2, high=MOST_ITEMS)] = 16,
    ) -> None:
        self.mode, self.items, self.prefixed = mode, vocabulary, isinstance(k, tuple)
        self.steps = k if isinstance(k, tuple) else (k,)
        if not self.steps or len(set(self.steps)) < len(self.steps):
            raise InputError(f"k_back needs one k or several different ones, got k={list(self.steps)}")
        prefixes = {vocabulary + i: f"{step}:" for i, step in enumerate(self.steps)} if self.prefixed else {}
        super().__init__(
            vocabulary=vocabulary + len(prefixes), classes=vocabulary if mode == "recall" else 2, most_steps=1500,
            shortest=max(self.steps) + 1, because=f"k is {max(self.steps)}", specials=prefixes,
        )  # fmt: skip

    def sides(self, length: int) -> tuple[int, ...]:
        return (length + self.prefixed,)

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        which = torch.randint(len(self.steps), (count, 1), generator=generator)
        k = torch.tensor(self.steps)[which]
        back = torch.arange(length) - k
        if self.mode == "recall":
            tokens = torch.randint(self.items, (count, length), generator=generator)
            answers = tokens.gather(1, back.clamp(min=0))
        else:
            answers = torch.randint(2, (count, length), generator=generator)
            tokens = self._with_matches(answers, k, generator)
        targets = answers.masked_fill(back < 0, UNSCORED)
        if self.prefixed:
            tokens = torch.cat((self.items + which, tokens), dim=1)
            targets = torch.cat((torch.full_like(which, UNSCORED), targets), dim=1)
        return Batch(tokens, targets)

    def _with_matches(
        self, match: Int[Tensor, "b n"], k: Int[Tensor, "b 1"], generator: torch.Generator
    ) -> Int[Tensor, "b n"]:
        """Items that equal the one k back exactly where `match` is 1, and elsewhere are uniform over the others."""
        index = torch.arange(match.shape[1])
        change = torch.randint(1, self.items, match.shape, generator=generator).masked_fill(match.bool(), 0)
        first = torch.randint(self.items, match.shape, generator=generator)
        items, hop = torch.where(index < k, first, change), k
        # An item is the sum of the changes k, 2k, 3k ... back. Each round doubles how many of them are summed.
        for _ in range(((len(index) - 1) // min(self.steps)).bit_length()):
            behind = index - hop
            items = items + items.gather(1, behind.clamp(min=0)).masked_fill(behind < 0, 0)
            hop = hop * 2
        return items % self.items

    def chance(self, length: int, split: str = "id") -> float:
        return 1 / self.classes

    def solve(self, tokens: list[int]) -> list[int]:
        if self.prefixed:
            k, items, answers = self.steps[tokens[0] - self.items], tokens[1:], [UNSCORED]
        else:
            k, items, answers = self.steps[0], tokens, []
        for t, item in enumerate(items):
            if t < k:
                answers.append(UNSCORED)
            else:
                answers.append(items[t - k] if self.mode == "recall" else int(item == items[t - k]))
        return answers

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        k = self.steps[tokens[0] - self.items if self.prefixed else 0]
        return [(t - k,) if t >= k + self.prefixed else () for t in range(len(tokens))]

    def example(self) -> list[int]:
        k = self.steps[0]
        items = [item % self.items for item in range(k)]
        for extra in range(4):  # equal and different by turns
            items.append((items[-k] + extra % 2) % self.items)
        return [self.items, *items] if self.prefixed else items

    def word(self, token: int) -> str:
        return self.specials.get(token, letter(token))

    def answer(self, target: int) -> str:
        return letter(target) if self.mode == "recall" else str(target)
