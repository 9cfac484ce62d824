"""A distance penalty with a trained shape."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.nn.functional import softplus

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.parameters import Param


class Kerple(Encoding):
    """Subtracts a penalty from every score that grows with the logarithm of distance, or with a power of it. Two
    trained parameters per head set its growth. The power 1 with fixed slopes is alibi."""

    family = "bias"
    formula = r"-p_h \ln(1 + a_h |i-j|) \quad\text{or}\quad -a_h |i-j|^{p_h},\quad a_h, p_h > 0"
    paper = Paper(
        "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation",
        ("Ta-Chung Chi", "Ting-Han Fan", "Peter J. Ramadge", "Alexander I. Rudnicky"),
        2022,
        "2205.09921",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        kind: Annotated[Literal["log", "power"], Param("the penalty's law")] = "log",
        share_layers: Annotated[bool, Param("the same numbers for all layers, as in the paper's code")] = True,
    ) -> None:
        super().__init__(shape, shift_invariant=True, per_layer=not share_layers, real_positions=True)
        self.kind = kind
        # Both pass through a function that keeps them positive; the paper's code clips them in place.
        self.raw_a = nn.Parameter(torch.empty(shape.heads))
        self.raw_p = nn.Parameter(torch.empty(shape.heads))

    def a(self) -> Float[Tensor, " h"]:
        """The scale of distance, or in the power law the slope."""
        return softplus(upcast(self.raw_a))

    def p(self) -> Float[Tensor, " h"]:
        """The weight of the logarithm, or the power, which stays below 2."""
        raw = upcast(self.raw_p)
        return softplus(raw) if self.kind == "log" else 2 * torch.sigmoid(raw)

    def reset(self, generator: torch.Generator) -> None:
        """As in the paper's code: a from 0 to 1 and p from 0 to 2, evenly, but not below 0.01."""
        a, p = torch.rand(2, self.shape.heads, dtype=torch.float32, generator=generator).clamp_(0.01, 0.99)
        with torch.no_grad():
            self.raw_a.copy_(a.expm1().log())
            self.raw_p.copy_((2 * p).expm1().log() if self.kind == "log" else p.logit())

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "h g"]:
        a, p = self.a()[:, None], self.p()[:, None]
        distance = relative.abs().to(a.dtype)
        return -p * torch.log1p(a * distance) if self.kind == "log" else -a * distance**p
