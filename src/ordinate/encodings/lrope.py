"""Rotary position embedding with trained frequencies."""

from typing import Annotated

import torch
from torch import nn

from ordinate.core.encoding import Encoding, Features, Heads, Paper, Prepared, Shape, Side, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.rotation import Angles, Convention, even_width, frequencies, spread, turn


class LRope(Encoding):
    """RoPE with trained frequencies, on a logarithmic scale so that they stay positive. It starts as RoPE. Every layer
    has its own frequencies; the paper shares one set among all layers, as share_layers=true does."""

    family = "rotation"
    formula = r"q_i^\top R_{i-j}\, k_j,\quad R_r \text{ turns pair } k \text{ by } r\,b^{-2k/d}\,e^{w_k}"
    paper = Paper(
        "LeRoPE: Learnable RoPE Frequencies Improve Language Modeling",
        ("Petros Karypis", "Sean O'Brien", "Shreyas Kadekodi", "Rui Zhu", "Julian McAuley"),
        2026,
        "2607.10134",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        base: Annotated[float, Param("base of the wavelengths at the start", low=1.01)] = 10_000.0,
        per_head: Annotated[bool, Param("separate frequencies for every head")] = False,
        share_layers: Annotated[bool, Param("one set of frequencies for all layers")] = False,
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "halves",
    ) -> None:
        even_width("lrope", shape.head_dim, shape.dim, shape.heads)
        super().__init__(
            shape, shift_invariant=True, per_layer=not share_layers, side_dependent=per_head, real_positions=True,
            gqa_needs="per_head=false" if per_head else "",
        )  # fmt: skip
        self.base, self.pairs = base, pairs
        # w is kept apart from RoPE's own logarithms: the start is exact, and rounding in bfloat16 small
        self.w = nn.Parameter(torch.empty(shape.heads if per_head else 1, shape.head_dim // 2))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.zeros_(self.w)

    def prepare(self, positions: Positions) -> Angles:
        at = upcast(positions.values[..., 0])[:, None, :, None]
        theta = frequencies(self.shape.head_dim, self.base, at.device) * upcast(self.w).exp()
        return spread(at * theta[:, None], self.pairs)

    def rotate(self, x: Heads, state: Prepared, side: Side, features: Features | None = None) -> Heads:
        self.check_heads(x.shape[1])
        return turn(x, state, self.pairs)
