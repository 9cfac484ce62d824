"""Sines and cosines of row and column, added to the embeddings."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size
from ordinate.encodings._shared.sines import Base, sinusoid


class Sinusoidal2D(Encoding):
    """The sinusoidal encoding on a grid: half of the channels encode the row, half the column. Positions are (row,
    column); models that use (column, row) need positions.flip(-1)."""

    family = "added"
    formula = (
        r"PE_{(y,x)} = [\,S(y)\,\|\,S(x)\,],\quad S_{2k}(p) = \sin(p\,b^{-4k/D}),\; S_{2k+1}(p) = \cos(p\,b^{-4k/D})"
    )
    paper = Paper(
        "End-to-End Object Detection with Transformers",
        ("Nicolas Carion", "Francisco Massa", "Gabriel Synnaeve", "Nicolas Usunier", "Alexander Kirillov",
         "Sergey Zagoruyko"),
        2020, "2005.12872",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        base: Base = 10_000.0,
        layout: Annotated[
            Literal["interleaved", "halves", "sines_first"],
            Param("row, then column, each with sine and cosine side by side or with all sines before its cosines; or "
                  "the sines of both before the cosines of both"),
        ] = "interleaved",
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:  # fmt: skip
        if shape.dim % 4:
            raise InputError(
                f"sinusoidal_2d needs a width that 4 divides, a sine and a cosine per axis, got {shape.dim}"
            )
        super().__init__(shape, axes=(2,), real_positions=True)
        self.base, self.layout = base, layout
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.amplitude = self.adding.factor(0.5)  # sin² + cos² = 1, so their mean is 1/2

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """Sines and cosines at these positions, as defined."""
        within = "interleaved" if self.layout == "interleaved" else "halves"
        half = self.shape.dim // 2
        axes = [sinusoid(at, half, base=self.base, layout=within) for at in positions.values.split(1, dim=-1)]
        if self.layout == "sines_first":
            axes = [part for halves in zip(*(axis.chunk(2, dim=-1) for axis in axes), strict=True) for part in halves]
        return torch.cat(axes, dim=-1)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        return self.adding(x, self.amplitude * self.table(positions), self.training)
