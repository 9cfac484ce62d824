"""A gated feed-forward layer's gate, with its own gradient: both halves are written where they belong, not joined."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def swiglu(x: Float[Tensor, "*b twice"]) -> Float[Tensor, "*b once"]:
    """silu(first half) * second half (Shazeer 2020)."""
    gated: Tensor = _SwiGLU.apply(x)  # type: ignore[no-untyped-call]
    return gated


class _SwiGLU(torch.autograd.Function):
    """A tenth of a step's time goes by here, and joining two halves of a gradient was a third of that."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        gate, value = x.chunk(2, dim=-1)
        opened = F.silu(gate)
        ctx.save_for_backward(x, opened)
        return opened * value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, opened = ctx.saved_tensors
        gate, value = x.chunk(2, dim=-1)
        joined = torch.empty_like(x)
        by_gate, by_value = joined.chunk(2, dim=-1)
        torch.mul(grad, opened, out=by_value)
        torch.ops.aten.silu_backward.grad_input(grad * value, gate, grad_input=by_gate)
        return joined
