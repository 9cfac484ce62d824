"""A trained vector for every position, added to the embeddings."""

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Past, Shape
from ordinate.core.parameters import Param
from ordinate.core.place import LARGEST_POSITION, Place


class Learned(Encoding):
    """Looks each position up in a trained table and adds the row to the token embedding. It knows nothing of
    positions it was not trained on."""

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
        rows: Annotated[int | None, Param("rows of the table; none: the trained length", low=2)] = None,
        beyond: Annotated[
            Literal["refuse", "clip", "interpolate"],
            Param("past the last row: an error, the last row again, or the table stretched over the sequence"),
        ] = "refuse",
        size: Annotated[
            float | None, Param("spread of the starting values over that of token embeddings; none: 0.02", low=0.0)
        ] = 1.0,
        scale_tokens: Annotated[bool, Param("multiply token embeddings by sqrt(D) first")] = False,
    ) -> None:
        self.rows = rows or max(shape.length, 2)
        past: dict[str, Past] = {"refuse": "refuses", "clip": "clips", "interpolate": "extends"}
        stretched = "past its rows the whole table is stretched over the current length"
        super().__init__(
            shape,
            past="untrained" if self.rows > shape.length else past[beyond],
            limit=self.rows if beyond == "refuse" else LARGEST_POSITION,
            exempt=dict.fromkeys(("cached_past", "packed_past", "prefix_past"), stretched)
            if beyond == "interpolate"
            else None,
        )
        self.beyond, self.scale_tokens = beyond, scale_tokens
        matched = shape.matched(size, scale_tokens)
        self.std = 0.02 if matched is None else matched  # 0.02: GPT-2's and BERT's
        self.table = nn.Parameter(torch.empty(self.rows, shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.std, generator=generator)

    def relabel(self, positions: Num[Tensor, "#b n 1"]) -> Num[Tensor, "#b n 1"]:
        if self.beyond == "clip":
            return positions.clamp(max=self.rows - 1)
        if self.beyond == "interpolate":
            last = positions.amax(dim=1, keepdim=True).clamp(min=self.rows - 1)
            return positions * ((self.rows - 1) / last)
        return positions

    def embed(self, x: Float[Tensor, "b n d"], place: Place) -> Float[Tensor, "b n d"]:
        scaled = x.float() * math.sqrt(self.shape.dim) if self.scale_tokens else x
        at = place.positions[..., 0]
        if not at.is_floating_point():
            return (scaled + nn.functional.embedding(at, self.table)).to(x.dtype)
        below = at.floor().long()
        above = (below + 1).clamp(max=self.rows - 1)
        table = self.table.float()
        rows = torch.lerp(table[below], table[above], (at - below).unsqueeze(-1))
        return (scaled + rows).to(x.dtype)
