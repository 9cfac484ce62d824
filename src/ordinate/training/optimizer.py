"""The optimizer of every run, and the second half of a step: from gradients to new weights."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

Adam = Literal["adamw", "adam"]


def make_optimizer(
    model: nn.Module, *, lr: float, betas: Sequence[float], weight_decay: float, kind: Adam = "adamw"
) -> torch.optim.Optimizer:
    """Adam or AdamW, fused. Weight decay acts on matrices of the network, never on an encoding's own parameters."""
    groups: list[dict[str, Any]] = [{"params": [], "weight_decay": decay} for decay in (weight_decay, 0.0)]
    for name, weight in model.named_parameters():
        decays = weight.dim() >= 2 and not name.startswith("encodings.")
        groups[0 if decays else 1]["params"].append(weight)
    cls = torch.optim.AdamW if kind == "adamw" else torch.optim.Adam
    return cls(groups, lr=lr, betas=(betas[0], betas[1]), fused=True)


def apply_gradients(model: nn.Module, optimizer: torch.optim.Optimizer, *, lr: float, clip: float) -> Tensor:
    """Clip the gradient to a norm of at most `clip` (0: no limit), update the weights, and return the norm before."""
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return whole(norm)


def whole(tensor: Tensor) -> Tensor:
    """The tensor itself, or all shards of a DTensor. Importing `torch.distributed.tensor` to check takes a second."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
