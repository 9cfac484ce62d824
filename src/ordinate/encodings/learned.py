"""A trained vector for every position, added to the embeddings."""

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size
from ordinate.encodings._shared.position_table import Beyond, RowRange, Rows, read


class Learned(Encoding):
    """Looks each position up in a trained table and adds the row to the token embedding. It does not generalize to
    positions unseen in training."""

    family = "added"
    usual = True
    formula = r"x_p \mapsto x_p + E_p"
    paper = Paper(
        "Convolutional Sequence to Sequence Learning",
        ("Jonas Gehring", "Michael Auli", "David Grangier", "Denis Yarats", "Yann N. Dauphin"),
        2017,
        "1705.03122",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        rows: Rows = None,
        beyond: Beyond = "refuse",
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        row_range = RowRange.of(shape, rows, beyond)
        super().__init__(shape, **row_range.declared(shape))
        self.row_range = row_range
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.table = nn.Parameter(torch.empty(row_range.rows, shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.adding.std, generator=generator)

    def relabel(self, positions: Num[Tensor, "#b n 1"]) -> Num[Tensor, "#b n 1"]:
        return self.row_range.relabel(positions)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        self.check_range(positions)
        return self.adding(x, read(self.table, positions.values), self.training)
