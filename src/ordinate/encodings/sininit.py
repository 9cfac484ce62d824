"""A trained vector for every position that starts as sines and cosines."""

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Shape
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size
from ordinate.encodings._shared.position_table import Beyond, RowRange, Rows, read
from ordinate.encodings._shared.sines import Base, Exponent, Layout, sinusoid


class SinInit(Encoding):
    """A trained table, as in the learned encoding, initialized with the values of the sinusoidal one instead of noise.
    Rows that training never reaches keep these values."""

    family = "added"
    formula = (
        r"x_p \mapsto x_p + E_p,\quad E^{(0)}_{p,2k} = \sin(p\,b^{-2k/D}),\; E^{(0)}_{p,2k+1} = \cos(p\,b^{-2k/D})"
    )

    def __init__(
        self,
        shape: Shape,
        *,
        rows: Rows = None,
        beyond: Beyond = "refuse",
        base: Base = 10_000.0,
        layout: Layout = "interleaved",
        exponent: Exponent = "paper",
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        row_range = RowRange.of(shape, rows, beyond)
        super().__init__(shape, **row_range.declared(shape))
        self.row_range, self.base, self.layout, self.exponent = row_range, base, layout, exponent
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.table = nn.Parameter(torch.empty(row_range.rows, shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        row = Positions.range(len(self.table), device=self.table.device).values
        start = sinusoid(row, self.shape.dim, base=self.base, layout=self.layout, exponent=self.exponent)
        with torch.no_grad():
            self.table.copy_(self.adding.factor(0.5) * start[0])  # sin² + cos² = 1, so their mean is 1/2

    def relabel(self, positions: Num[Tensor, "#b n 1"]) -> Num[Tensor, "#b n 1"]:
        return self.row_range.relabel(positions)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        self.check_range(positions)
        return self.adding(x, read(self.table, positions.values), self.training)
