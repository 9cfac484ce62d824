"""A trained bias for every bucket of relative positions."""

from typing import Annotated

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.encodings._shared.buckets import log_bucket


class T5(Encoding):
    """Adds a trained bias to each score, one per head and bucket of relative positions: near distances have a bucket
    each, far ones share buckets of logarithmically growing width. All layers share one table."""

    family = "bias"
    usual = True
    formula = r"B_{h,\,\mathrm{bucket}(i-j)}"
    paper = Paper(
        "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
        ("Colin Raffel", "Noam Shazeer", "Adam Roberts", "Katherine Lee", "Sharan Narang", "Michael Matena",
         "Yanqi Zhou", "Wei Li", "Peter J. Liu"),
        2019,
        "1910.10683",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        buckets: Annotated[int, Param("how many ranges of distances; bidirectional models split them", low=4)] = 32,
        farthest: Annotated[int, Param("distance from which on all share the last bucket", low=2)] = 128,
        std: Annotated[float, Param("spread of the starting values", low=0.0)] = 0.02,
    ) -> None:
        exact = buckets // (2 if shape.causal else 4)
        if farthest <= exact:
            raise InputError(
                f"t5 keeps {exact} distances exact with {buckets} buckets: farthest must exceed that, got {farthest}"
            )
        super().__init__(shape, extrapolation="clips", shift_invariant=True)
        self.buckets, self.farthest, self.std = buckets, farthest, std
        self.table = nn.Parameter(torch.empty(buckets, shape.heads))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.std, generator=generator)

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "h g"]:
        bucket = log_bucket(relative, causal=self.shape.causal, buckets=self.buckets, farthest=self.farthest)
        return upcast(nn.functional.embedding(bucket, self.table)).t()
