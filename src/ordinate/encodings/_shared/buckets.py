"""Distances sorted into buckets that widen with distance, as T5 does it."""

import math

import torch
from jaxtyping import Int, Num
from torch import Tensor


def log_bucket(relative: Num[Tensor, "*shape"], *, causal: bool, buckets: int, farthest: int) -> Int[Tensor, "*shape"]:
    """The bucket of each relative position (query minus key).

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
