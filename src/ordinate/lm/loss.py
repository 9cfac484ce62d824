"""Cross-entropy over a large vocabulary, a few tokens at a time, so that no one holds all logits.

Loss and gradients are found in one pass: a chunk's logits are turned into its gradients where they lie. Recomputing
them in the backward pass, as checkpointing would, costs one product in four more.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

LOGITS = 2**20  # of one chunk: 4 MB in float32, which a core's cache nearly holds


def token_losses(
    states: Float[Tensor, "n d"], weight: Float[Tensor, "v d"], targets: Int[Tensor, " n"]
) -> Float[Tensor, " n"]:
    """The loss of every token, without gradients."""
    parts = []
    with torch.no_grad():
        for state, target in _chunks(states, targets, len(weight)):
            logits = state @ weight.t()
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            parts.append(logits.logsumexp(dim=-1) - logits.gather(1, target[:, None])[:, 0])
    return torch.cat(parts)


def total_loss(
    states: Float[Tensor, "n d"], weight: Float[Tensor, "v d"], targets: Int[Tensor, " n"]
) -> Float[Tensor, ""]:
    """The sum over tokens: sums of parts of a batch add up, whatever the parts are."""
    total: Tensor = _TotalLoss.apply(states, weight, targets)  # type: ignore[no-untyped-call]
    return total


def _chunks(states: Tensor, targets: Tensor, vocabulary: int) -> list[tuple[Tensor, Tensor]]:
    size = max(16, LOGITS // vocabulary)
    return list(zip(states.split(size), targets.split(size), strict=True))


class _TotalLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        narrow = torch.is_autocast_enabled(states.device.type)
        kind = torch.get_autocast_dtype(states.device.type) if narrow else weight.dtype
        own, wide = weight.to(kind), torch.promote_types(weight.dtype, torch.float32)
        total = states.new_zeros((), dtype=wide)
        by_state, by_weight = torch.empty_like(states), torch.zeros_like(weight)
        at = 0
        for state, target in _chunks(states, targets, len(weight)):
            logits = (state.to(kind) @ own.t()).to(wide)
            target = target[:, None]
            picked = logits.gather(1, target)
            norm = logits.logsumexp(dim=-1, keepdim=True)
            total += (norm - picked).sum()
            grad = logits.sub_(norm).exp_().scatter_add_(1, target, -torch.ones_like(picked)).to(kind)
            by_state[at : at + len(state)] = grad @ own
            _add_product(by_weight, grad.t(), state.to(kind))
            at += len(state)
        ctx.save_for_backward(by_state, by_weight)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        by_state, by_weight = ctx.saved_tensors
        return by_state.mul_(grad.to(by_state.dtype)), by_weight.mul_(grad.to(by_weight.dtype)), None


def _add_product(target: Tensor, a: Tensor, b: Tensor) -> None:
    """target += a @ b, in place where the types allow."""
    if a.dtype == target.dtype:
        target.addmm_(a, b)
    else:
        target += (a @ b).to(target.dtype)
