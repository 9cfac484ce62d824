"""Relative positions in buckets: near distances have one each, far ones share buckets of growing width."""

import math
from typing import Annotated

import torch
from jaxtyping import Int, Num
from torch import Tensor

from ordinate.core.encoding import Paper, Shape
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param

Buckets = Annotated[int, Param("how many ranges of distances; bidirectional models split them", low=4)]
Farthest = Annotated[int, Param("distance from which on all share the last bucket", low=2)]
RAFFEL = Paper(
    "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
    ("Colin Raffel", "Noam Shazeer", "Adam Roberts", "Katherine Lee", "Sharan Narang", "Michael Matena",
     "Yanqi Zhou", "Wei Li", "Peter J. Liu"),
    2019,
    "1910.10683",
)  # fmt: skip


def check_buckets(owner: str, shape: Shape, buckets: int, farthest: int) -> None:
    """Refuse a farthest distance among those that have a bucket of their own."""
    exact = buckets // (2 if shape.causal else 4)
    if farthest <= exact:
        raise InputError(
            f"{owner} keeps {exact} distances exact with {buckets} buckets: farthest must exceed that, got {farthest}"
        )


def t5_bucket(relative: Num[Tensor, "*shape"], *, causal: bool, buckets: int, farthest: int) -> Int[Tensor, "*shape"]:
    """The bucket of each relative position (query minus key), as in T5.

    Half of the buckets hold one distance each, the others grow logarithmically up to `farthest`, past which all share
    the last. When not causal, the first half of all buckets looks back and the second half ahead.
    """
    ahead, distance = torch.zeros_like(relative, dtype=torch.long), relative.clamp(min=0)
    if not causal:
        buckets //= 2
        ahead, distance = (relative < 0) * buckets, relative.abs()
    exact = buckets // 2
    # float32 and this order of operations: the boundaries of pretrained T5 models depend on the rounding
    far = torch.log(distance.clamp(min=1).float() / exact) / math.log(farthest / exact) * (buckets - exact)
    large = (exact + far.long()).clamp(max=buckets - 1)
    return torch.where(distance < exact, distance.long(), large) + ahead


def deberta_bucket(relative: Num[Tensor, "*shape"], buckets: int, farthest: int) -> Int[Tensor, "*shape"]:
    """Distances up to half of the buckets as they are, larger ones on a logarithmic scale, as in DeBERTa v2."""
    middle, distance = buckets // 2, relative.abs()
    ratio = distance.clamp(min=middle).float() / middle
    # float32 and this order of operations: the boundaries of pretrained models depend on the rounding
    full = torch.full((), (farthest - 1) / middle, dtype=torch.float32, device=relative.device).log()
    far = torch.ceil(ratio.log() / full * (middle - 1)).long() + middle
    return torch.where(distance <= middle, relative, far * relative.sign())
