"""Sines of the position without cosines, added to the embeddings."""

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Shape, upcast
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size
from ordinate.encodings._shared.sines import Base


class SinOnly(Encoding):
    """Adds sines of twice as many wavelengths as the sinusoidal encoding has, and no cosines. Without its cosine a sine
    cannot be shifted by a linear map, so a relative position looks different at every absolute position."""

    family = "added"
    formula = r"PE_{p,k} = \sin(p\,b^{-k/D})"

    def __init__(
        self,
        shape: Shape,
        *,
        base: Base = 10_000.0,
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(shape, real_positions=True)
        self.base = base
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.amplitude = self.adding.measured(self.table)  # slow sines hardly leave 0 within a short text

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """Sines at these positions, as defined."""
        k = torch.arange(self.shape.dim, dtype=torch.float32, device=positions.values.device)
        return (upcast(positions.values) * self.base ** -(k / self.shape.dim)).sin()

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        return self.adding(x, self.amplitude * self.table(positions), self.training)
