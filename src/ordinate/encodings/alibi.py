"""A penalty that grows linearly with distance."""

from typing import Annotated

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ordinate.core.encoding import Encoding, Shape, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.encodings._shared.slopes import ALIBI, Sides, check_sides, slopes


class Alibi(Encoding):
    """Subtracts distance times a fixed slope from every score. The slopes fall geometrically over the heads: steep
    heads attend locally, flat heads far away. Nothing is trained."""

    family = "bias"
    usual = True
    formula = r"-m_h\,|i-j|,\quad m_h = 2^{-8h/H}"
    paper = ALIBI

    def __init__(
        self,
        shape: Shape,
        *,
        sides: Sides = "symmetric",
        ratio: Annotated[float, Param("asymmetric: slope to the right over slope to the left", low=0.0)] = 2.0,
        max_bias: Annotated[float, Param("the flattest head has slope 2^-max_bias", low=0.01)] = 8.0,
    ) -> None:
        check_sides("alibi", shape, sides)
        if ratio != 2.0 and sides != "asymmetric":
            raise InputError(f"alibi has ratio {ratio:g}, which only sides=asymmetric reads")
        super().__init__(shape, shift_invariant=True, real_positions=True)
        self.slopes = slopes(shape.heads, max_bias)
        self.right = ratio if sides == "asymmetric" else 1.0

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "h g"]:
        steps = upcast(relative)
        distance = torch.where(steps < 0, -self.right * steps, steps)
        return -torch.tensor(self.slopes, dtype=torch.float32, device=relative.device)[:, None] * distance
