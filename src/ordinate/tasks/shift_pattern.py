"""A pattern at any position."""

from itertools import permutations
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import pad

from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.task import MOST_ITEMS, UNSCORED, Batch, Task, letter


class ShiftPattern(Task):
    """Present: 1 if the sequence contains the pattern A B C, 0 if it contains its tokens in another order:
    X Y A B C Z ? -> 1 and X Y B C A Z ? -> 0. Where: it contains both, and the answer at the end of each is 1 for the
    pattern and 0 for the other: A B C X B A C -> . . 1 . . . 0. Training and in-distribution data have the pattern in
    the first half of its possible positions, the split `shift` has it in the second."""

    family = "matching"
    variants = ({"mode": "where"}, {"balanced": False})

    def __init__(
        self,
        *,
        mode: Annotated[Literal["present", "where"], Param("whether the pattern occurs, or where")] = "present",
        vocabulary: Annotated[
            int, Param("different tokens; the first of them make up the pattern", low=3, high=MOST_ITEMS)
        ] = 16,
        pattern: Annotated[int, Param("tokens in the pattern, all different", low=2, high=6)] = 3,
        balanced: Annotated[
            bool, Param("the pattern's tokens in every sequence; false: as published, where each gives the answer away")
        ] = True,
    ) -> None:
        if vocabulary <= pattern:
            raise InputError(
                f"shift_pattern needs a vocabulary above {pattern}, its pattern's length, got {vocabulary}"
            )
        where = mode == "where"
        if where and pattern < 3:
            raise InputError(
                f"shift_pattern with mode=where has no other order for a pattern of {pattern}: choose 3 or more"
            )
        if where and not balanced:
            raise InputError(
                "shift_pattern with mode=where has the pattern in every sequence: leave out balanced=false"
            )
        self.mode, self.tokens, self.pattern, self.balanced = mode, vocabulary, pattern, balanced
        # For `where` all orders end in the pattern's last token: the token that is scored must not reveal the answer.
        orders = [order for order in permutations(range(pattern)) if not where or order[-1] == pattern - 1]
        self.order, self.others = torch.tensor(orders[0]), torch.tensor(orders[1:])
        self.bits = torch.tensor([2**t if t < pattern else 0 for t in range(vocabulary)])
        super().__init__(
            vocabulary=vocabulary if where else vocabulary + 1,
            classes=2,
            readout="tokens" if where else "last",
            most_steps=2500,
            # two patterns side by side in the first half, or one in each half
            shortest=3 * pattern + 1 if where else pattern + 1,
            because=f"room for a pattern of {pattern}",
            splits=("id", "shift"),
            needs_order=balanced,
            specials={} if where else {vocabulary: "?"},
        )

    def sides(self, length: int) -> tuple[int, ...]:
        return (length if self.mode == "where" else length + 1,)

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        """Two versions are made that differ in the order of the planted tokens alone, and the label picks one of them:
        so counts, positions and the filler are independent of the label."""
        label = torch.randint(2, (count, 1), generator=generator)
        starts = self._starts(count, length, generator, split)
        positions = (starts[:, :, None] + torch.arange(self.pattern)).flatten(1)
        order = self.order.expand(count, -1)
        other = self.others[torch.randint(len(self.others), (count,), generator=generator)]
        where = self.mode == "where"
        yes, no = (torch.cat((order, other), 1), torch.cat((other, order), 1)) if where else (order, other)

        filler = torch.randint(self.tokens, (count, length), generator=generator)
        neutral = torch.randint(self.pattern, self.tokens, (count, length), generator=generator)
        planted = torch.zeros(count, length, dtype=torch.bool).scatter(1, positions, True)
        if not self.balanced:
            tokens = torch.where(planted & label.bool(), neutral.scatter(1, positions, order), neutral)
            return Batch(pad(tokens, (0, 1), value=self.tokens), label[:, 0])
        for version in (yes, no):
            accidental = self._complete(filler.scatter(1, positions, version)) & ~planted
            filler = torch.where(accidental, neutral, filler)  # tokens outside the pattern complete no other window
        tokens = filler.scatter(1, positions, torch.where(label.bool(), yes, no))
        if where:
            ends = torch.cat((label, 1 - label), 1)
            return Batch(tokens, torch.full_like(tokens, UNSCORED).scatter(1, starts + self.pattern - 1, ends))
        return Batch(pad(tokens, (0, 1), value=self.tokens), label[:, 0])

    def _starts(self, count: int, length: int, generator: torch.Generator, split: str) -> Int[Tensor, "b blocks"]:
        """Where planted tokens begin: one start, or for `where` two that do not overlap, all equally likely."""
        starts = length - self.pattern + 1
        begin, end = (starts // 2, starts) if split == "shift" else (0, starts // 2)
        if self.mode == "present":
            return torch.randint(begin, end, (count, 1), generator=generator)
        room = end - begin - (self.pattern - 1)
        one = torch.randint(room, (count, 1), generator=generator)
        two = (one + torch.randint(1, room, (count, 1), generator=generator)) % room
        return begin + torch.cat((torch.minimum(one, two), torch.maximum(one, two) + self.pattern - 1), 1)

    def _complete(self, tokens: Int[Tensor, "b n"]) -> Bool[Tensor, "b n"]:
        """Tokens inside a window that holds the whole pattern, in whatever order."""
        # p powers of two sum to 2^p - 1 only if they are the first p of them, each once
        whole = self.bits[tokens].unfold(1, self.pattern, 1).sum(dim=-1) == 2**self.pattern - 1
        return pad(whole, (self.pattern - 1, self.pattern - 1)).unfold(1, self.pattern, 1).any(dim=-1)

    def chance(self, length: int, split: str = "id") -> float:
        return 0.5

    def solve(self, tokens: list[int]) -> list[int]:
        pattern = list(range(self.pattern))
        windows = [tokens[max(0, t - self.pattern + 1) : t + 1] for t in range(len(tokens))]
        if self.mode == "present":
            return [int(pattern in windows)]
        scored = [sorted(window) == pattern and window[-1] == pattern[-1] for window in windows]
        return [int(window == pattern) if here else UNSCORED for window, here in zip(windows, scored, strict=True)]

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        """The tokens of the pattern, in whatever order they stand."""
        whole = list(range(self.pattern))
        ends = [t for t in range(len(tokens)) if sorted(tokens[max(0, t - self.pattern + 1) : t + 1]) == whole]
        if self.mode == "present":
            planted = [tuple(range(t - self.pattern + 1, t + 1)) for t in ends]
            return [()] * (len(tokens) - 1) + [planted[0] if planted else ()]
        scored = [t for t in ends if tokens[t] == whole[-1]]
        return [tuple(range(t - self.pattern + 1, t)) if t in scored else () for t in range(len(tokens))]

    def example(self) -> list[int]:
        pattern, outside = list(range(self.pattern)), self.tokens - 1
        if self.mode == "present":
            return [outside, outside, *pattern, outside, self.tokens]
        return [*pattern, outside, 1, 0, *pattern[2:]]

    def word(self, token: int) -> str:
        return self.specials.get(token, letter(token))
