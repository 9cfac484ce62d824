"""Sines and cosines of a coordinate, from fast to slow: the mathematics under every sinusoidal encoding."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ordinate.core.encoding import upcast
from ordinate.core.parameters import Param

Base = Annotated[float, Param("longest wavelength over 2 pi", low=1.0)]
Layout = Annotated[
    Literal["interleaved", "halves"], Param("sine and cosine side by side, or all sines before all cosines")
]
Exponent = Annotated[
    Literal["paper", "tensor2tensor"], Param("2k/D as in the paper, or k/(D/2 - 1) as in its first code")
]


def sinusoid(
    coordinate: Num[Tensor, "#b n 1"], width: int, *, base: float, layout: str, exponent: str = "paper"
) -> Float[Tensor, "#b n {width}"]:
    """sin(p base^(-2k/width)) and its cosine, in float32 at least; an odd width drops the last cosine."""
    k = torch.arange((width + 1) // 2, dtype=torch.float32, device=coordinate.device)
    power = 2 * k / width if exponent == "paper" else k / max(width / 2 - 1, 1)
    angle = upcast(coordinate) * base**-power
    sin, cos = angle.sin(), angle.cos()
    both = torch.stack((sin, cos), dim=-1).flatten(-2) if layout == "interleaved" else torch.cat((sin, cos), dim=-1)
    return both[..., :width]
