"""A trained vector for every row and every column, added to the embeddings."""

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size
from ordinate.encodings._shared.position_table import Beyond, RowRange, Rows, read


class Learned2D(Encoding):
    """Looks the row and the column of a cell up in two trained tables and adds their sum or their concatenation; or has
    one trained vector for every cell, as vision transformers do."""

    family = "added"
    formula = r"x_{(r,c)} \mapsto x_{(r,c)} + R_r + C_c"
    paper = Paper(
        "Reformer: The Efficient Transformer", ("Nikita Kitaev", "Lukasz Kaiser", "Anselm Levskaya"), 2020, "2001.04451"
    )

    def __init__(
        self,
        shape: Shape,
        *,
        mode: Annotated[
            Literal["sum", "concatenate", "cells"],
            Param("row plus column, half of the channels for each, or a vector for every cell"),
        ] = "sum",
        rows: Rows = None,
        beyond: Beyond = "refuse",
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        if mode == "concatenate" and shape.dim < 2:
            raise InputError("learned_2d with mode=concatenate needs channels for rows and for columns, got dim 1")
        row_range = RowRange.of(shape, rows, beyond)
        super().__init__(shape, axes=(2,), **row_range.declared(shape))
        self.mode, self.row_range, side = mode, row_range, row_range.rows
        self.adding = Adding(shape, size, dropout, scale_tokens)
        widths = {"sum": (shape.dim, shape.dim), "concatenate": (shape.dim - shape.dim // 2, shape.dim // 2)}.get(mode)
        self.cells = nn.Parameter(torch.empty(side, side, shape.dim)) if widths is None else None
        self.row = None if widths is None else nn.Parameter(torch.empty(side, widths[0]))
        self.column = None if widths is None else nn.Parameter(torch.empty(side, widths[1]))

    def reset(self, generator: torch.Generator) -> None:
        for table in self.parameters():
            std = self.adding.std / math.sqrt(2 if self.mode == "sum" else 1)  # a sum of two has the std of one
            nn.init.normal_(table, std=std, generator=generator)

    def relabel(self, positions: Num[Tensor, "#b n 2"]) -> Num[Tensor, "#b n 2"]:
        return self.row_range.relabel(positions)

    def values(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """The trained vectors of these cells; between cells, bilinearly."""
        at = positions.values
        if self.row is None or self.column is None:
            assert self.cells is not None
            return read(self.cells, at)
        row, column = read(self.row, at[..., :1]), read(self.column, at[..., 1:])
        return row + column if self.mode == "sum" else torch.cat((row, column), dim=-1)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        self.check_range(positions)
        return self.adding(x, self.values(positions), self.training)
