"""In which precision things are computed: float32 at least, whatever the model's dtype or torch's default."""

import torch
from torch import Tensor


def upcast(x: Tensor) -> Tensor:
    """At least float32: a float64 model stays one, everything narrower is computed in float32 and cast last."""
    return x if x.dtype == torch.float64 else x.float()
