"""An MLP of the position, added to the embeddings."""

from collections.abc import Callable
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate.core.encoding import Encoding, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "relu": F.relu, "tanh": torch.tanh}


class Continuous(Encoding):
    """Feeds the position, divided by the trained length, to an MLP with one hidden layer and adds the output. It is a
    smooth function of any real position; past the trained length the MLP extrapolates."""

    family = "added"
    formula = r"PE_p = W_2\,\phi(W_1\,p/L + b_1)"

    def __init__(
        self,
        shape: Shape,
        *,
        hidden: Annotated[int | None, Param("width of the network; none: that of the model", low=1)] = None,
        activation: Annotated[Literal["gelu", "relu", "tanh"], Param("the function phi inside the network")] = "gelu",
        normalizer: Annotated[
            float | None, Param("L, by which positions are divided; none: the trained length", low=1e-6)
        ] = None,
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(shape, real_positions=True)
        self.activation, self.normalizer = activation, normalizer or float(shape.length)
        self.adding = Adding(shape, size, dropout, scale_tokens)
        width = hidden or shape.dim
        self.inner = nn.Parameter(torch.empty(width, 1))
        self.inner_bias = nn.Parameter(torch.empty(width))
        # no second bias: it would be the same vector at every position
        self.outer = nn.Parameter(torch.empty(shape.dim, width))

    def reset(self, generator: torch.Generator) -> None:
        for weight in (self.inner, self.inner_bias, self.outer):
            bound = (self.outer.shape[1] if weight is self.outer else 1) ** -0.5  # torch's own start for linear layers
            nn.init.uniform_(weight, -bound, bound, generator=generator)
        with torch.no_grad():
            self.outer.mul_(self.adding.measured(self.values))

    def values(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """What the network makes of these positions."""
        weight = upcast(self.inner)
        share = (upcast(positions.values) / self.normalizer).to(weight.dtype)
        inside = F.linear(share, weight, upcast(self.inner_bias))
        return F.linear(ACTIVATIONS[self.activation](inside), upcast(self.outer))

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        return self.adding(x, self.values(positions), self.training)
