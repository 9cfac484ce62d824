"""A trained bias for every offset on a grid."""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext


class Swin(Encoding):
    """Adds a trained bias to each score, one per head and offset in rows and columns. Offsets outside the window share
    the bias at its edge. On text, offsets are relative positions."""

    family = "bias"
    formula = r"B_{h,\,\Delta},\quad \Delta = \mathrm{clip}(p_i - p_j,\,\pm(W-1)) \text{ on each axis}"
    paper = Paper(
        "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows",
        ("Ze Liu", "Yutong Lin", "Yue Cao", "Han Hu", "Yixuan Wei", "Zheng Zhang", "Stephen Lin", "Baining Guo"),
        2021,
        "2103.14030",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        window: Annotated[int | None, Param("W positions on each axis; none: the trained length", low=2)] = None,
        share_layers: Annotated[bool, Param("one table for all layers")] = False,
        std: Annotated[float, Param("spread of the starting values", low=0.0)] = 0.02,
    ) -> None:
        super().__init__(shape, extrapolation="clips", shift_invariant=True, per_layer=not share_layers, axes=(1, 2))
        self.window = window or max(shape.length, 2)  # on a grid, `length` is that of a side
        self.std = std
        self.table = nn.Parameter(torch.empty((2 * self.window - 1) ** shape.axes, shape.heads))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.std, generator=generator)

    def index(self, offsets: Int[Tensor, "*shape axes"]) -> Int[Tensor, "*shape"]:
        """The row of the table for each offset, as Swin numbers them: row by row."""
        edge, offsets_per_axis = self.window - 1, 2 * self.window - 1
        steps = offsets.clamp(-edge, edge) + edge
        index: Tensor = steps[..., 0]
        for axis in range(1, steps.shape[-1]):
            index = index * offsets_per_axis + steps[..., axis]
        return index

    def relative_bias(self, relative: Int[Tensor, " g"]) -> Float[Tensor, "h g"]:
        return upcast(nn.functional.embedding(self.index(relative[:, None]), self.table)).t()

    def relative_only(self) -> bool:
        return self.shape.axes == 1

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b #h q k"] | None:
        if self.shape.axes == 1:
            return super().bias(context)
        offsets = context.q.values[:, :, None] - context.k.values[:, None]
        return upcast(nn.functional.embedding(self.index(offsets), self.table)).movedim(-1, 1)
