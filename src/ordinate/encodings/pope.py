"""Polar coordinates: content sets the magnitude of a channel, position its angle."""

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from ordinate.core.encoding import Encoding, Features, Paper, Prepared, Shape, Side, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.rotation import angles

Polar = dict[Side, tuple[Float[Tensor, "#b #h n e"], Float[Tensor, "#b #h n e"]]]


class Pope(Encoding):
    """Represents every channel in polar coordinates: the magnitude, never negative, depends on content only, the angle
    on position only, plus a trained phase for each head and channel. RoPE, in contrast, mixes content and position in
    the angle."""

    family = "rotation"
    widens = True
    formula = r"\frac{1}{\sqrt d}\sum_c \mu(q_{ic})\,\mu(k_{jc})\cos\bigl((j-i)\,b^{-c/d}+\delta_{hc}\bigr),"
    formula += r"\quad \mu = \mathrm{softplus}"
    paper = Paper(
        "Decoupling the \"What\" and \"Where\" With Polar Coordinate Positional Embeddings",
        ("Anand Gopalakrishnan", "Robert Csordás", "Jürgen Schmidhuber", "Michael C. Mozer"),
        2025, "2509.10534",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        base: Annotated[float, Param("base of the wavelengths", low=1.01)] = 10_000.0,
        phase: Annotated[
            Literal["zero", "uniform"], Param("the trained angles at the start: 0, or anywhere on the circle")
        ] = "zero",
    ) -> None:
        super().__init__(shape, shift_invariant=True, per_layer=True, real_positions=True)
        self.base, self.phase = base, phase
        self.delta = nn.Parameter(torch.empty(shape.heads, shape.head_dim))

    def reset(self, generator: torch.Generator) -> None:
        if self.phase == "zero":
            nn.init.zeros_(self.delta)
        else:
            nn.init.uniform_(self.delta, -2 * math.pi, 0.0, generator=generator)

    def prepare(self, positions: Positions) -> Polar:
        at, width = positions.values[..., 0], self.shape.head_dim
        exponent = torch.arange(width, dtype=torch.float32, device=at.device) / width
        angle = angles(self.base**-exponent, at).unsqueeze(1)
        # The paper keeps delta in one period: no difference. Subtracted from queries, so heads may share keys (GQA).
        rotated = angle - upcast(self.delta)[:, None]
        size = math.sqrt(2)  # attention divides by the root of 2d channels, where the root of d is meant
        return {"q": (size * rotated.cos(), size * rotated.sin()), "k": (angle.cos(), angle.sin())}

    def rotate(
        self, x: Float[Tensor, "b h n e"], state: Prepared, side: Side, features: Features | None = None
    ) -> Float[Tensor, "b h n 2*e"]:
        cos, sin = state[side]
        size = softplus(upcast(x))
        return torch.cat((size * cos, size * sin), dim=-1).to(x.dtype)
