"""A trained vector for ids that several tokens share."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import LARGEST_POSITION, Positions
from ordinate.encodings._shared.additive import Adding, Dropout, Size
from ordinate.encodings._shared.spans import check_digits, check_rows, digit_counts, first_position


class Coupled(Encoding):
    """Adds a trained vector for an id that related tokens share: in a sum, all digits of equal place value. The ids are
    passed as positions (source=given), or counted in the text: digits 1, 2, 3 ... from the least significant, which
    must be written first, and 0 for tokens between numbers, so that the = before an answer has the id below that of the
    answer's first digit. The first position of a sequence is added to every id. An id from `rows` on is refused."""

    family = "added"
    formula = r"x_p \mapsto x_p + E_{g(p)},\quad g(p) = g(q) \text{ for tokens } p, q \text{ that belong together}"
    paper = Paper(
        "Position Coupling: Improving Length Generalization of Arithmetic Transformers Using Task Structure",
        ("Hanseul Cho", "Jaeyoung Cha", "Pranjal Awasthi", "Srinadh Bhojanapalli", "Anupam Gupta", "Chulhee Yun"),
        2024,
        "2405.20671",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        source: Annotated[
            Literal["tokens", "given"], Param("ids counted in numbers written least significant first, or positions")
        ] = "tokens",
        digits: Annotated[tuple[int, ...], Param("tokens: first and last token id that is a digit", low=0)] = (0, 9),
        rows: Annotated[int, Param("rows of the table, one per id from 0 on", low=2)] = 1024,
        size: Size = 1.0,
        dropout: Dropout = 0.0,
    ) -> None:
        check_digits("coupled", digits)
        if source == "given" and digits != (0, 9):
            raise InputError(f"coupled has digits {list(digits)}, which only source=tokens reads")
        counts = source == "tokens"
        super().__init__(
            shape,
            extrapolation="untrained" if counts or rows > shape.length else "refuses",
            max_positions=LARGEST_POSITION if counts else rows,
            extra_inputs=("tokens", "neighbors") if counts else (),
        )
        self.adding = Adding(shape, size, dropout)
        self.source, self.digits = source, digits
        self.table = nn.Parameter(torch.empty(rows, shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.adding.std, generator=generator)

    def ids(self, positions: Positions) -> Int[Tensor, "#b n"]:
        """The row that each token looks up."""
        if self.source == "given":
            return positions.values[..., 0]
        return digit_counts(positions, self.digits) + first_position(positions)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        ids = self.ids(positions)
        if self.source == "given":
            self.check_range(positions)
        else:
            check_rows("coupled", ids, len(self.table))
        return self.adding(x, nn.functional.embedding(ids, self.table), self.training)
