"""Fused attention under a score term that depends on the distance alone, without any table of size n x n.

The term is one line of numbers per head (`relative_line`). With queries in reverse order, the dense bias is a view of
that line with strides (1, 1), which the fused CPU kernel reads as its mask. Causal queries go in blocks, each against
the keys it can see, so the masked half costs nothing. The gradient of the line is the sum of the score gradients
along diagonals.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from ordinate.model.trained_bias import ROWS, Block, backward_kernel, forward_kernel, gradients


def toeplitz_attention(
    q: Float[Tensor, "b h q e"],
    k: Float[Tensor, "b h k e"],
    v: Float[Tensor, "b h k e"],
    line: Float[Tensor, "#h g"],
    *,
    causal: bool,
) -> Float[Tensor, "b h q e"]:
    """Attention whose scores get `line` added; the last query stands at the last key."""
    out: Tensor = _GapAttention.apply(q, k, v, line, causal)  # type: ignore[no-untyped-call]
    return out


def _blocks(queries: int, keys: int, causal: bool, size: int) -> list[Block]:
    """(first row, last row, keys) of each block, in reversed query order."""
    return [(row, min(row + size, queries), keys - row if causal else keys) for row in range(0, queries, size)]


class _GapAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, line: Tensor, causal: bool) -> Tensor:
        back = q.flip(2)
        out = torch.empty_like(back)
        lse = q.new_empty(q.shape[:3])
        table = line.detach().unfold(-1, k.shape[2], 1).unsqueeze(0)
        ctx.blocks = _blocks(q.shape[2], k.shape[2], causal, _size(q.shape[2], causal))
        for first, last, keys in ctx.blocks:
            mask = table[:, :, first:last, :keys]
            part, norm = forward_kernel(
                back[:, :, first:last], k[:, :, :keys], v[:, :, :keys], 0.0, False, attn_mask=mask
            )  # type: ignore[misc]
            out[:, :, first:last] = part
            lse[:, :, first:last] = norm
        ctx.save_for_backward(back, k, v, line, out, lse)
        ctx.causal = causal
        return out.flip(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None, None]:
        grad = grad.flip(2)
        if ctx.needs_input_grad[3]:
            return *_all_gradients(ctx, grad), None
        back, k, v, line, out, lse = ctx.saved_tensors
        to_q, to_k, to_v = torch.empty_like(back), torch.zeros_like(k), torch.zeros_like(v)
        table = line.unfold(-1, k.shape[2], 1).unsqueeze(0)
        for first, last, keys in ctx.blocks:
            rows, seen = slice(first, last), slice(0, keys)
            parts = backward_kernel(  # type: ignore[misc]
                grad[:, :, rows], back[:, :, rows], k[:, :, seen], v[:, :, seen], out[:, :, rows], lse[:, :, rows],
                0.0, False, attn_mask=table[:, :, rows, seen],
            )  # fmt: skip
            to_q[:, :, rows] = parts[0]
            to_k[:, :, seen] += parts[1]
            to_v[:, :, seen] += parts[2]
        return to_q.flip(2), to_k, to_v, None, None


def _size(queries: int, causal: bool) -> int:
    """Queries per call of the kernel: smaller blocks skip more of the masked half, but each costs something."""
    return queries if not causal else 128 if queries <= 1024 else 512


def _all_gradients(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of queries, keys, values, and of the line: sums of score gradients along diagonals, [h, g]."""
    back, k, v, line, out, lse = ctx.saved_tensors
    table = line.unfold(-1, k.shape[2], 1).unsqueeze(0)
    to_line = torch.zeros_like(line)

    def collect(block: Block, change: Tensor) -> None:
        first, last, width = block
        steps = change.sum(dim=0) if len(line) > 1 else change.sum(dim=(0, 1)).unsqueeze(0)
        # Rows laid out one number short of their width slide one step each, which puts diagonals into columns.
        count = last - first
        slid = torch.nn.functional.pad(steps, (0, count)).flatten(1)[:, : count * (width + count - 1)]
        to_line[:, first : first + width + count - 1] += slid.view(len(line), count, -1).sum(dim=1)

    blocks = _blocks(back.shape[2], k.shape[2], ctx.causal, ROWS)
    to_q, to_k, to_v = gradients(grad, back, k, v, table, out, lse, blocks, collect)
    return to_q.flip(2), to_k, to_v, to_line
