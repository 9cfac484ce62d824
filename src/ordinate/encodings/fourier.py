"""An MLP of sines and cosines with trained frequencies, added to the embeddings."""

import math
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size


class Fourier(Encoding):
    """Feeds cosines and sines of the position, with trained frequencies, to an MLP and adds the output. On a grid each
    wave has its own direction. Follows Li et al.; coordinates are counted in steps, and all axes form one group."""

    family = "added"
    formula = (
        r"r_p=\tfrac{1}{\sqrt F}\,[\cos W_r p\,\|\,\sin W_r p],\quad"
        r" PE_p = W_p\,\mathrm{GELU}(W_1 r_p + b_1) + b_2,\quad W_r \sim \mathcal N(0,\gamma^{-2})"
    )
    paper = Paper(
        "Learnable Fourier Features for Multi-Dimensional Spatial Positional Encoding",
        ("Yang Li", "Si Si", "Gang Li", "Cho-Jui Hsieh", "Samy Bengio"),
        2021,
        "2106.02795",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        features: Annotated[int | None, Param("F, cosines and sines together; none: the model's width", low=2)] = None,
        hidden: Annotated[int | None, Param("width of the network; none: that of the model", low=1)] = None,
        gamma: Annotated[
            float, Param("over how many steps waves turn by about one radian at the start", low=1e-3)
        ] = 10.0,
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        if features is not None and features % 2:
            raise InputError(f"fourier has as many cosines as sines: features must be even, got {features}")
        super().__init__(shape, axes=(1, 2, 3), real_positions=True)
        self.gamma = gamma
        self.adding = Adding(shape, size, dropout, scale_tokens)
        waves, width = max((features or shape.dim) // 2, 1), hidden or shape.dim
        self.waves = nn.Parameter(torch.empty(waves, shape.axes))
        self.inner = nn.Parameter(torch.empty(width, 2 * waves))
        self.inner_bias = nn.Parameter(torch.empty(width))
        self.outer = nn.Parameter(torch.empty(shape.dim, width))
        self.outer_bias = nn.Parameter(torch.empty(shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.waves, std=1 / self.gamma, generator=generator)
        for matrix, bias in ((self.inner, self.inner_bias), (self.outer, self.outer_bias)):
            bound = matrix.shape[1] ** -0.5  # torch's own start for linear layers
            nn.init.uniform_(matrix, -bound, bound, generator=generator)
            nn.init.uniform_(bias, -bound, bound, generator=generator)
        with torch.no_grad():
            factor = self.adding.measured(self.values)
            self.outer.mul_(factor)
            self.outer_bias.mul_(factor)

    def values(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """What the network makes of these positions."""
        # a plain sum over the axes: a matrix product may be rounded to fewer digits than angles need
        angle = (upcast(positions.values).unsqueeze(-2) * upcast(self.waves)).sum(dim=-1)
        waves = torch.cat((angle.cos(), angle.sin()), dim=-1) / math.sqrt(2 * len(self.waves))
        inner, outer = upcast(self.inner), upcast(self.outer)
        inside = F.linear(waves.to(inner.dtype), inner, upcast(self.inner_bias))
        return F.linear(F.gelu(inside), outer, upcast(self.outer_bias))

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        return self.adding(x, self.values(positions), self.training)
