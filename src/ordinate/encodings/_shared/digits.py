"""Numbers written in digits, and what encodings share that add those of a position."""

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.encoding import Encoding, Extrapolation, Shape
from ordinate.core.errors import InputError
from ordinate.core.positions import LARGEST_POSITION, Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size


class DigitEncoding(Encoding):
    """Adds the digits of the position. They are added as they are, whatever the size of token embeddings, because
    their values are the definition; size=1 matches them."""

    family = "added"
    base: ClassVar[int]

    def __init__(
        self, shape: Shape, *, size: Size = None, scale_tokens: ScaleTokens = False, dropout: Dropout = 0.0
    ) -> None:
        limit = min(self.base ** min(shape.dim, needed(self.base)), LARGEST_POSITION)
        extrapolation: Extrapolation = "computes" if limit == LARGEST_POSITION else "refuses"
        super().__init__(shape, extrapolation=extrapolation, max_positions=limit)
        if limit < shape.length:
            raise InputError(
                f"{self.name} has a channel for each digit of a position: {shape.dim} of them end at {limit - 1},"
                f" before the trained length {shape.length} does, so choose a larger dim"
            )
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.amplitude = self.adding.measured(self.table)

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """Digits at these positions, as defined."""
        return digits(positions.values, self.shape.dim, self.base)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        self.check_range(positions)
        return self.adding(x, self.amplitude * self.table(positions), self.training)


def digits(numbers: Int[Tensor, "#b n 1"], width: int, base: int) -> Float[Tensor, "#b n {width}"]:
    """Digits to this base, most significant first, zeros on the left: 6 in four binary digits is 0 1 1 0."""
    used = min(width, needed(base))
    value = torch.tensor([base**k for k in reversed(range(used))], dtype=torch.int64, device=numbers.device)
    found = torch.div(numbers, value, rounding_mode="floor") % base
    return F.pad(found, (width - used, 0)).to(torch.float32)


def needed(base: int) -> int:
    """How many digits the largest position has."""
    return next(count for count in range(1, LARGEST_POSITION) if base**count >= LARGEST_POSITION)
