"""Sines and cosines of random frequencies, added to the embeddings."""

import math
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size


class RandomFourier(Encoding):
    """Adds sines and cosines of the position, divided by the trained length, with random frequencies that are not
    trained; on a grid each wave has a random direction. A larger sigma separates closer positions."""

    family = "added"
    formula = r"PE_p = [\sin 2\pi B\,p/L \,\|\, \cos 2\pi B\,p/L],\quad B \sim \mathcal N(0,\sigma^2)"
    paper = Paper(
        "Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional Domains",
        ("Matthew Tancik", "Pratul P. Srinivasan", "Ben Mildenhall", "Sara Fridovich-Keil", "Nithin Raghavan",
         "Utkarsh Singhal", "Ravi Ramamoorthi", "Jonathan T. Barron", "Ren Ng"),
        2020, "2006.10739",
    )  # fmt: skip

    matrix: Tensor

    def __init__(
        self,
        shape: Shape,
        *,
        sigma: Annotated[float, Param("spread of the frequencies, in turns over the trained length", low=1e-6)] = 10.0,
        normalizer: Annotated[
            float | None, Param("L, by which positions are divided; none: the trained length", low=1e-6)
        ] = None,
        centered: Annotated[bool, Param("coordinates from -1 to 1, as in Segment Anything, not from 0 to 1")] = False,
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(shape, axes=(1, 2, 3), real_positions=True)
        self.sigma, self.normalizer, self.centered = sigma, normalizer or float(shape.length), centered
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.amplitude = self.adding.factor(0.5)  # sin² + cos² = 1, so their mean is 1/2
        waves = (shape.dim + 1) // 2  # an odd width drops the last cosine
        # a buffer that is saved with the weights: nothing could draw it again
        self.register_buffer("matrix", torch.empty(shape.axes, waves, dtype=torch.float32))

    def _apply(self, fn: Any, recurse: bool = True) -> "RandomFourier":
        """A model may become bfloat16, these frequencies never: at position 8,000 their rounding is whole turns."""
        before = self.matrix
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.matrix.dtype in (torch.bfloat16, torch.float16):
            self.matrix = before.to(self.matrix.device)
        return self

    def reset(self, generator: torch.Generator) -> None:
        drawn = torch.empty(self.matrix.shape, dtype=torch.float32, device=generator.device)
        self.matrix.copy_(drawn.normal_(0.0, self.sigma, generator=generator))

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """Sines, then cosines, at these positions, as defined."""
        share = upcast(positions.values) / self.normalizer
        share = 2 * share - 1 if self.centered else share
        # a plain sum over the axes: a matrix product may be rounded to fewer digits than angles need
        angle = 2 * math.pi * (share.unsqueeze(-1) * upcast(self.matrix)).sum(dim=-2)
        return torch.cat((angle.sin(), angle.cos()), dim=-1)[..., : self.shape.dim]

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        return self.adding(x, self.amplitude * self.table(positions), self.training)
