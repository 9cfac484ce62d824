"""Fused attention under a score term that depends on the distance alone, without any table of size n x n.

The term is one line of numbers per head (`gap_line`). With queries in reverse order, the dense bias is a view of that
line with strides (1, 1), which the fused CPU kernel reads as its mask. Causal queries go in blocks, each against the
keys it can see, so the masked half costs nothing. The kernel gives no gradient for a mask; here the gradient of the
line is the sum of the score gradients along diagonals, recomputed block by block.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

_forward = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)
_backward = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu_backward", None)


def available(q: Tensor) -> bool:
    """Whether the fused CPU kernel, a private operator of torch, is there for these queries."""
    ready = _forward is not None and _backward is not None and q.device.type == "cpu"
    return ready and q.dtype == torch.float32 and not torch.compiler.is_compiling()


def gap_attention(
    q: Float[Tensor, "b h q e"],
    k: Float[Tensor, "b h k e"],
    v: Float[Tensor, "b h k e"],
    line: Float[Tensor, "#h g"],
    *,
    causal: bool,
    constant_from: int | None,
) -> Float[Tensor, "b h q e"]:
    """Attention whose scores get `line` added; the last query stands at the last key.

    If the line is constant from some gap on, the gradients there add up to minus all others, because each row of
    score gradients sums to zero: only a band is then recomputed.
    """
    out: Tensor = _GapAttention.apply(q, k, v, line, causal, constant_from)  # type: ignore[no-untyped-call]
    return out


def _blocks(queries: int, keys: int, causal: bool) -> list[tuple[int, int, int]]:
    """(first row, last row, keys) of each block, in reversed query order."""
    if not causal:
        return [(0, queries, keys)]
    size = 128 if queries <= 1024 else 512
    return [(row, min(row + size, queries), keys - row) for row in range(0, queries, size)]


class _GapAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, line: Tensor, causal: bool, constant_from: int | None
    ) -> Tensor:
        back = q.flip(2)
        out = torch.empty_like(back)
        lse = q.new_empty(q.shape[:3])
        table = line.detach().unfold(-1, k.shape[2], 1).unsqueeze(0)
        blocks = _blocks(q.shape[2], k.shape[2], causal)
        for first, last, keys in blocks:
            mask = table[:, :, first:last, :keys]
            part, norm = _forward(back[:, :, first:last], k[:, :, :keys], v[:, :, :keys], 0.0, False, attn_mask=mask)  # type: ignore[misc]
            out[:, :, first:last] = part
            lse[:, :, first:last] = norm
        ctx.save_for_backward(back, k, v, line, out, lse)
        ctx.blocks, ctx.constant_from = blocks, constant_from
        return out.flip(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None, None, None]:
        back, k, v, line, out, lse = ctx.saved_tensors
        grad = grad.flip(2)
        to_q, to_k, to_v = torch.empty_like(back), torch.zeros_like(k), torch.zeros_like(v)
        table = line.unfold(-1, k.shape[2], 1).unsqueeze(0)
        for first, last, keys in ctx.blocks:
            rows, seen = slice(first, last), slice(0, keys)
            parts = _backward(  # type: ignore[misc]
                grad[:, :, rows], back[:, :, rows], k[:, :, seen], v[:, :, seen], out[:, :, rows], lse[:, :, rows],
                0.0, False, attn_mask=table[:, :, rows, seen],
            )  # fmt: skip
            to_q[:, :, rows] = parts[0]
            to_k[:, :, seen] += parts[1]
            to_v[:, :, seen] += parts[2]
        to_line = None
        if ctx.needs_input_grad[3]:
            to_line = _line_gradient(ctx, grad, back, k, v, line, out, lse)
        return to_q.flip(2), to_k, to_v, to_line, None, None


def _line_gradient(
    ctx: Any, grad: Tensor, back: Tensor, k: Tensor, v: Tensor, line: Tensor, out: Tensor, lse: Tensor
) -> Tensor:
    """Sums of score gradients along diagonals, [h, g]."""
    queries, total_keys = back.shape[2], k.shape[2]
    scale = back.shape[-1] ** -0.5
    delta = (grad * out).sum(dim=-1, keepdim=True)
    table = line.unfold(-1, total_keys, 1)
    result = torch.zeros_like(line)
    far = ctx.constant_from
    size = 128
    for first in range(0, queries, size):
        last = min(first + size, queries)
        low, high = 0, total_keys
        if far is not None:  # causal: the last of these rows sees `high` keys, the band begins `far` before the oldest
            high = total_keys - first
            low = max(0, total_keys - last - far)
        rows, band = slice(first, last), slice(low, high)
        scores = torch.matmul(back[:, :, rows], k[:, :, band].transpose(2, 3)).mul_(scale).add_(table[:, rows, band])
        weights = scores.sub_(lse[:, :, rows, None]).exp_()
        change = torch.matmul(grad[:, :, rows], v[:, :, band].transpose(2, 3)).sub_(delta[:, :, rows]).mul_(weights)
        steps = change.sum(dim=0)
        if len(line) == 1:
            steps = steps.sum(dim=0, keepdim=True)
        count, width = last - first, high - low
        # Rows laid out one number short of their width slide one step each, which puts diagonals into columns.
        slid = torch.nn.functional.pad(steps, (0, count)).flatten(1)[:, : count * (width + count - 1)]
        result[:, first + low : first + low + width + count - 1] += slid.view(len(line), count, -1).sum(dim=1)
    if far is not None and total_keys > far:
        edge = total_keys - far  # entries before this one have a gap of at least `far`
        result[:, :edge] = 0
        result[:, edge - 1] = -result.sum(dim=1)
    return result
