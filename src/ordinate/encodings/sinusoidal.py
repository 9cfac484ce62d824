"""Sines and cosines of the position, added to the embeddings."""

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.parameters import Param
from ordinate.core.place import Place


class Sinusoidal(Encoding):
    """Adds a fixed pattern of sines and cosines, from fast to slow, to every token embedding. Positions a fixed
    distance apart are related by one linear map, whatever the position."""

    family = "added"
    usual = True
    formula = r"PE_{p,2k} = \sin(p\,b^{-2k/D}),\quad PE_{p,2k+1} = \cos(p\,b^{-2k/D})"
    paper = Paper(
        "Attention Is All You Need",
        ("Ashish Vaswani", "Noam Shazeer", "Niki Parmar", "Jakob Uszkoreit", "Llion Jones", "Aidan N. Gomez",
         "Lukasz Kaiser", "Illia Polosukhin"),
        2017,
        "1706.03762",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        base: Annotated[float, Param("longest wavelength over 2 pi", low=1.0)] = 10_000.0,
        layout: Annotated[
            Literal["interleaved", "halves"], Param("sine and cosine side by side, or all sines before all cosines")
        ] = "interleaved",
        exponent: Annotated[
            Literal["paper", "tensor2tensor"], Param("2k/D as in the paper, or k/(D/2 - 1) as in its first code")
        ] = "paper",
        scale_tokens: Annotated[bool, Param("multiply token embeddings by sqrt(D) first, as the paper does")] = False,
        size: Annotated[
            float | None, Param("root mean square over that of token embeddings; none: sines and cosines of 1", low=0.0)
        ] = 1.0,
    ) -> None:
        super().__init__(shape)
        matched = shape.matched(size, scale_tokens)
        self.amplitude = 1.0 if matched is None else matched * math.sqrt(2)  # sin² + cos² = 1, so their mean is 1/2
        self.base, self.layout, self.exponent, self.scale_tokens = base, layout, exponent, scale_tokens

    def embed(self, x: Float[Tensor, "b n d"], place: Place) -> Float[Tensor, "b n d"]:
        scaled = x.float() * math.sqrt(self.shape.dim) if self.scale_tokens else x
        return (scaled + self.amplitude * self.table(place)).to(x.dtype)

    def table(self, place: Place) -> Float[Tensor, "#b n d"]:
        """Sines and cosines at these positions, in float32."""
        pairs = (self.shape.dim + 1) // 2  # an odd width drops the last cosine
        k = torch.arange(pairs, dtype=torch.float32, device=place.positions.device)
        power = 2 * k / self.shape.dim if self.exponent == "paper" else k / max(self.shape.dim / 2 - 1, 1)
        angle = place.positions.float() * self.base**-power
        sin, cos = angle.sin(), angle.cos()
        if self.layout == "interleaved":
            both = torch.stack((sin, cos), dim=-1).flatten(-2)
        else:
            both = torch.cat((sin, cos), dim=-1)
        return both[..., : self.shape.dim]
