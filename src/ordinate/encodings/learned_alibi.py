"""A penalty that grows linearly with distance, with trained slopes."""

from typing import Annotated

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.encodings._shared.slopes import ALIBI, Sides, check_sides, slopes


class LearnedAlibi(Encoding):
    """ALiBi with trained slopes. They start at ALiBi's values, and each head can become steeper or flatter, but slopes
    stay positive."""

    family = "bias"
    formula = r"-e^{w_h}\,|i-j|,\quad w_h = -\tfrac{8h}{H} \ln 2 \text{ at the start}"
    paper = ALIBI

    def __init__(
        self,
        shape: Shape,
        *,
        sides: Sides = "symmetric",
        max_bias: Annotated[float, Param("the flattest head starts with slope 2^-max_bias", low=0.01)] = 8.0,
        share_layers: Annotated[bool, Param("the same slopes for all layers")] = True,
    ) -> None:
        check_sides("learned_alibi", shape, sides)
        super().__init__(shape, shift_invariant=True, per_layer=not share_layers, real_positions=True)
        self.max_bias = max_bias
        self.log_slopes = nn.Parameter(torch.empty(2 if sides == "asymmetric" else 1, shape.heads))  # left, right

    def reset(self, generator: torch.Generator) -> None:
        start = torch.tensor(slopes(self.shape.heads, self.max_bias), dtype=torch.float32)
        with torch.no_grad():
            self.log_slopes.copy_(start.log().expand_as(self.log_slopes))

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "h g"]:
        slope = upcast(self.log_slopes).exp()[..., None]
        penalty = slope * relative.abs().to(slope.dtype)
        return -torch.where(relative < 0, penalty[-1], penalty[0])
