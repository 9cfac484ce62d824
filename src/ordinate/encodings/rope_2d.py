"""Rotary position embedding for grids."""

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Features, Heads, Paper, Shape, Side, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.rotation import Angles, Convention, even_width, spread, turn


class Rope2D(Encoding):
    """RoPE with two coordinates. Axial: half of the pairs rotate with the row, half with the column. Mixed: every pair
    rotates with both, in a direction learned per pair, head and layer. Positions are (row, column); models that use
    (column, row) need positions.flip(-1)."""

    family = "rotation"
    usual = True
    formula = r"\text{angle of pair } k = \theta^{(1)}_k\, p^{(1)} + \theta^{(2)}_k\, p^{(2)}"
    paper = Paper(
        "Rotary Position Embedding for Vision Transformer",
        ("Byeongho Heo", "Song Park", "Dongyoon Han", "Sangdoo Yun"),
        2024,
        "2403.13298",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        mode: Annotated[Literal["axial", "mixed"], Param("axes apart, or mixed in learned directions")] = "axial",
        base: Annotated[float | None, Param("base of the wavelengths; none: 100 axial, 10 mixed", low=1.0)] = None,
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "interleaved",
    ) -> None:
        even_width("rope_2d", shape.head_dim, shape.dim, shape.heads, multiple=4)
        mixed = mode == "mixed"
        super().__init__(
            shape, shift_invariant=True, axes=(2,), side_dependent=mixed, per_layer=mixed, real_positions=True,
            gqa_needs="mode=axial" if mixed else "",
        )  # fmt: skip
        self.mode, self.pairs = mode, pairs
        self.base = base or (10.0 if mixed else 100.0)
        # theta[axis, head, pair]: what one step along an axis adds to a pair's angle
        self.theta = nn.Parameter(torch.empty(2, shape.heads, shape.head_dim // 2)) if mixed else None

    def _speeds(self, device: torch.device) -> Float[Tensor, " quarter"]:
        quarter = self.shape.head_dim // 4
        return self.base ** -(torch.arange(quarter, dtype=torch.float32, device=device) / quarter)

    def reset(self, generator: torch.Generator) -> None:
        """Each head gets a random direction; half of its pairs rotate along it and half across it, as in the paper."""
        if self.theta is None:
            return
        speed = self._speeds(self.theta.device)
        direction = torch.rand(self.shape.heads, 1, generator=generator).to(speed.device) * 2 * math.pi
        across = direction + math.pi / 2
        with torch.no_grad():
            self.theta[0] = torch.cat((speed * direction.cos(), speed * across.cos()), dim=-1)
            self.theta[1] = torch.cat((speed * direction.sin(), speed * across.sin()), dim=-1)

    def prepare(self, positions: Positions) -> Angles:
        at = upcast(positions.values)[:, None]  # b 1 n 2
        if self.theta is not None:
            angle = at[..., :1] * self.theta[0][:, None] + at[..., 1:] * self.theta[1][:, None]
        else:
            speed = self._speeds(at.device)
            angle = torch.cat((at[..., :1] * speed, at[..., 1:] * speed), dim=-1)
        return spread(angle, self.pairs)

    def rotate(self, x: Heads, state: Angles, side: Side, features: Features | None = None) -> Heads:
        self.check_heads(x.shape[1])
        return turn(x, state, self.pairs)
