"""A trained vector for every digit index within a number."""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, Size
from ordinate.encodings._shared.spans import check_digits, check_rows, digit_counts, first_position


class Abacus(Encoding):
    """Numbers the digits of each number 1, 2, 3 ... from its first digit and adds a trained vector for that index; all
    other tokens have index 0. In numbers written least significant digit first, digits of equal place value then share
    a vector. To train large indices on short numbers, train at random offsets (coverage=offset): the first position of
    a sequence is added to the index of every digit. An index from `rows` on is refused. Combine it with another
    encoding: it distinguishes digits, not other tokens."""

    family = "added"
    formula = (
        r"x_p \mapsto x_p + E_{c_p},\quad c_p = \text{place of digit } p \text{ in its number, } 0 \text{ if none}"
    )
    paper = Paper(
        "Transformers Can Do Arithmetic with the Right Embeddings",
        ("Sean McLeish", "Arpit Bansal", "Alex Stein", "Neel Jain", "John Kirchenbauer", "Brian R. Bartoldson",
         "Bhavya Kailkhura", "Abhinav Bhatele", "Jonas Geiping", "Avi Schwarzschild", "Tom Goldstein"),
        2024, "2405.17399",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        digits: Annotated[tuple[int, ...], Param("first and last token id that is a digit", low=0)] = (0, 9),
        rows: Annotated[int, Param("rows of the table, one per number from 0 on", low=2)] = 1024,
        size: Size = 1.0,
        dropout: Dropout = 0.0,
    ) -> None:
        check_digits("abacus", digits)
        super().__init__(shape, extrapolation="untrained", extra_inputs=("tokens", "neighbors"))
        self.adding = Adding(shape, size, dropout)
        self.digits = digits
        self.table = nn.Parameter(torch.empty(rows, shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.adding.std, generator=generator)

    def ids(self, positions: Positions) -> Int[Tensor, "#b n"]:
        """The row that each token looks up."""
        count = digit_counts(positions, self.digits)
        return torch.where(count > 0, count + first_position(positions), 0)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        ids = self.ids(positions)
        check_rows("abacus", ids, len(self.table))
        return self.adding(x, nn.functional.embedding(ids, self.table), self.training)
