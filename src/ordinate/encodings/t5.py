"""A trained bias for every bucket of relative positions."""

from typing import Annotated

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.encodings._shared.buckets import RAFFEL, Buckets, Farthest, check_buckets, t5_bucket


class T5(Encoding):
    """Adds a trained bias to each score, one per head and bucket of relative positions: near distances have a bucket
    each, far ones share buckets of logarithmically growing width. All layers share one table."""

    family = "bias"
    usual = True
    formula = r"B_{h,\,\mathrm{bucket}(i-j)}"
    paper = RAFFEL

    def __init__(
        self,
        shape: Shape,
        *,
        buckets: Buckets = 32,
        farthest: Farthest = 128,
        std: Annotated[float, Param("spread of the starting values", low=0.0)] = 0.02,
    ) -> None:
        check_buckets("t5", shape, buckets, farthest)
        super().__init__(shape, extrapolation="clips", shift_invariant=True)
        self.buckets, self.farthest, self.std = buckets, farthest, std
        self.table = nn.Parameter(torch.empty(buckets, shape.heads))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.std, generator=generator)

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "h g"]:
        bucket = t5_bucket(relative, causal=self.shape.causal, buckets=self.buckets, farthest=self.farthest)
        return upcast(nn.functional.embedding(bucket, self.table)).t()
