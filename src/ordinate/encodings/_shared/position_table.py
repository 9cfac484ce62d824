"""Trained tables with a row for every position: what they do past their last row, and reading between rows."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.encoding import Extrapolation, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import LARGEST_POSITION

Rows = Annotated[int | None, Param("rows of the table; none: the trained length", low=2)]
Beyond = Annotated[
    Literal["refuse", "clip", "interpolate"],
    Param("past the last row: an error, the last row again, or the table stretched over the sequence"),
]


@dataclass(frozen=True)
class RowRange:
    """How many rows a table has along each axis, and what happens past them."""

    rows: int
    beyond: str

    @staticmethod
    def of(shape: Shape, rows: int | None, beyond: str) -> "RowRange":
        return RowRange(rows or max(shape.length, 2), beyond)

    def declared(self, shape: Shape) -> dict[str, Any]:
        """What an encoding with such a table declares of itself."""
        extrapolation: dict[str, Extrapolation] = {"refuse": "refuses", "clip": "clips", "interpolate": "extends"}
        stretched = "past its rows the whole table is stretched over the current length"
        return {
            "extrapolation": "untrained" if self.rows > shape.length else extrapolation[self.beyond],
            "max_positions": self.rows if self.beyond == "refuse" else LARGEST_POSITION,
            "skip_contracts": dict.fromkeys(("cached_past", "packed_past", "prefix_past"), stretched)
            if self.beyond == "interpolate"
            else None,
        }

    def relabel(self, positions: Num[Tensor, "#b n axes"]) -> Num[Tensor, "#b n axes"]:
        """Positions within the table; each axis for itself."""
        if self.beyond == "clip":
            return positions.clamp(max=self.rows - 1)
        if self.beyond == "interpolate":
            last = positions.amax(dim=1, keepdim=True).clamp(min=self.rows - 1)
            return positions * ((self.rows - 1) / last.float())
        return positions


def read(table: Float[Tensor, "*rows d"], at: Num[Tensor, "#b n axes"]) -> Float[Tensor, "#b n d"]:
    """Rows of a table that has one axis for each axis of the positions; between rows, linearly along every axis."""
    if at.is_floating_point():
        return _between(upcast(table), at, ())
    index = at[..., 0]
    for axis in range(1, at.shape[-1]):
        index = index * table.shape[axis] + at[..., axis]
    return F.embedding(index, table.flatten(0, -2))


def _between(table: Tensor, at: Tensor, corner: tuple[Tensor, ...]) -> Tensor:
    """The rows of a corner, once it is known on every axis; until then, between the two sides of the next axis."""
    axis = len(corner)
    if axis == at.shape[-1]:
        return table[corner]
    below = at[..., axis].floor().long()
    above = (below + 1).clamp(max=table.shape[axis] - 1)
    share = (at[..., axis] - below).unsqueeze(-1).to(table.dtype)
    low, high = (_between(table, at, (*corner, side)) for side in (below, above))
    return torch.lerp(low, high, share)
