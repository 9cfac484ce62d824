"""A trained bias for every relative position."""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.encodings._shared.buckets import RAFFEL


class Relative(Encoding):
    """Adds a trained bias to each score, one per head and relative position; distances past the farthest share its
    bias. It is t5 without buckets."""

    family = "bias"
    formula = r"B_{h,\,\mathrm{clip}(i-j,\,\pm K)}"
    paper = RAFFEL

    def __init__(
        self,
        shape: Shape,
        *,
        farthest: Annotated[
            int | None, Param("distance K past which all share one number; none: trained length - 1", low=1)
        ] = None,
        share_layers: Annotated[bool, Param("one table for all layers")] = True,
        std: Annotated[float, Param("spread of the starting values", low=0.0)] = 0.02,
    ) -> None:
        super().__init__(shape, extrapolation="clips", shift_invariant=True, per_layer=not share_layers)
        self.farthest, self.std = farthest or max(shape.length - 1, 1), std
        rows = self.farthest + 1 if shape.causal else 2 * self.farthest + 1
        self.table = nn.Parameter(torch.empty(rows, shape.heads))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.std, generator=generator)

    def relative_bias(self, relative: Int[Tensor, " g"]) -> Float[Tensor, "h g"]:
        ahead = 0 if self.shape.causal else self.farthest  # a causal model needs no rows for keys ahead
        rows = relative.clamp(-ahead, self.farthest) + ahead
        return upcast(nn.functional.embedding(rows, self.table)).t()
