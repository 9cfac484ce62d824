"""A neighbor on a grid."""

from typing import Annotated

import torch

from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.task import MOST_ITEMS, UNSCORED, Batch, Task, letter


class ImagePattern(Task):
    """A square grid of symbols with one marked cell: which symbol is a given number of rows below it and columns
    to its right? The length is the side of the grid; tokens are its cells, row by row. With one down and two right:
    * B A / C A D -> D, answered at the marked cell."""

    family = "distance"

    def __init__(
        self,
        *,
        down: Annotated[int, Param("rows from the marked cell down to the answer; negative: up")] = 1,
        right: Annotated[int, Param("columns from the marked cell to the right; negative: to the left")] = 2,
        vocabulary: Annotated[int, Param("different symbols", low=2, high=MOST_ITEMS)] = 16,
    ) -> None:
        if down == right == 0:
            raise InputError("image_pattern cannot query the marked cell itself: choose down or right other than 0")
        self.down, self.right, self.mark = down, right, vocabulary
        super().__init__(
            vocabulary=vocabulary + 1,
            classes=vocabulary,
            form="bidirectional",
            train_lengths=(4, 6),  # sides: 16 to 36 tokens
            longer=(8, 10, 12),
            shortest=max(abs(down), abs(right)) + 1,
            because=f"a cell {down} down and {right} right",
            axes=2,
            specials={vocabulary: "*"},
        )

    def sides(self, length: int) -> tuple[int, ...]:
        return (length, length)

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        tokens = torch.randint(self.mark, (count, length * length), generator=generator)
        row, column = (
            torch.randint(max(0, -step), length - max(0, step), (count, 1), generator=generator)
            for step in (self.down, self.right)
        )
        marked = row * length + column
        answers = tokens.gather(1, marked + self.down * length + self.right)
        targets = torch.full_like(tokens, UNSCORED).scatter(1, marked, answers)
        line = torch.arange(length)
        return Batch(tokens.scatter(1, marked, self.mark), targets, torch.cartesian_prod(line, line)[None])

    def chance(self, length: int, split: str = "id") -> float:
        return 1 / self.classes

    def solve(self, tokens: list[int]) -> list[int]:
        side = round(len(tokens) ** 0.5)
        grid = [tokens[row * side : (row + 1) * side] for row in range(side)]
        row, column = divmod(tokens.index(self.mark), side)
        answers = [UNSCORED] * len(tokens)
        answers[tokens.index(self.mark)] = grid[row + self.down][column + self.right]
        return answers

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        side, marked = round(len(tokens) ** 0.5), tokens.index(self.mark)
        return [(marked + self.down * side + self.right,) if t == marked else () for t in range(len(tokens))]

    def example(self) -> list[int]:
        side = self.shortest
        tokens = [cell % self.mark for cell in range(side * side)]
        tokens[max(0, -self.down) * side + max(0, -self.right)] = self.mark
        return tokens

    def show(self, tokens: list[int], targets: list[int]) -> str:
        side = round(len(tokens) ** 0.5)
        rows = [" ".join(map(self.word, tokens[row * side : (row + 1) * side])) for row in range(side)]
        return "\n".join(rows) + f" -> {self.answer(max(targets))}"

    def word(self, token: int) -> str:
        return self.specials.get(token, letter(token))

    def answer(self, target: int) -> str:
        return letter(target)
