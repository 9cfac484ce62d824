"""Fused attention with a bias that depends on the relative position alone, without a bias of size n x n.

`bias` holds one number per head and diagonal of the score matrix (`AttentionContext.diagonals`): query i and key j have
entry (q - 1 - i) + j. With queries in reverse order, i' = q - 1 - i, that is entry i' + j, so the dense bias is
`bias.unfold(-1, k, 1)`: a view with strides (1, 1), which the fused CPU kernel accepts as its mask. Causal queries run
in blocks, each against the keys up to its last query, so the masked half costs nothing.

Backward, entry g of the bias received every score with i' + j = g, so its gradient is the sum of the score gradients
along one antidiagonal of the reversed matrix. `tests/model/test_attention.py` holds all of this to plain attention.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from ordinate.model.trained_bias import ROWS, QueryBlock, backward_kernel, forward_kernel, gradients


def toeplitz_attention(
    q: Float[Tensor, "b h q e"],
    k: Float[Tensor, "b h k e"],
    v: Float[Tensor, "b h k e"],
    bias: Float[Tensor, "#h g"],
    *,
    causal: bool,
) -> Float[Tensor, "b h q e"]:
    """Attention with `bias` added along the diagonals of the scores; the last query is the last key."""
    out: Tensor = _ToeplitzAttention.apply(q, k, v, bias, causal)  # type: ignore[no-untyped-call]
    return out


def _blocks(queries: int, keys: int, causal: bool, size: int) -> list[QueryBlock]:
    """Blocks in reversed query order: the first one holds the last queries, which attend to all keys."""
    return [(row, min(row + size, queries), keys - row if causal else keys) for row in range(0, queries, size)]


def _block_size(queries: int, causal: bool) -> int:
    """Queries per kernel call: smaller blocks skip more of the masked half, but every call has a cost."""
    return queries if not causal else 128 if queries <= 1024 else 512


def _dense(bias: Tensor, keys: int) -> Tensor:
    """The bias of reversed queries as a view, [1, #h, q, k]."""
    return bias.unfold(-1, keys, 1).unsqueeze(0)


class _ToeplitzAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, causal: bool) -> Tensor:
        reversed_q = q.flip(2)
        out = torch.empty_like(reversed_q)
        lse = q.new_empty(q.shape[:3])
        dense = _dense(bias.detach(), k.shape[2])
        ctx.blocks = _blocks(q.shape[2], k.shape[2], causal, _block_size(q.shape[2], causal))
        for first, last, keys in ctx.blocks:
            mask = dense[:, :, first:last, :keys]
            part, norm = forward_kernel(
                reversed_q[:, :, first:last], k[:, :, :keys], v[:, :, :keys], 0.0, False, attn_mask=mask
            )  # type: ignore[misc]
            out[:, :, first:last] = part
            lse[:, :, first:last] = norm
        ctx.save_for_backward(reversed_q, k, v, bias, out, lse)
        ctx.causal = causal
        return out.flip(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None, None]:
        grad = grad.flip(2)
        if ctx.needs_input_grad[3]:
            return *_gradients_with_bias(ctx, grad), None
        reversed_q, k, v, bias, out, lse = ctx.saved_tensors
        grad_q, grad_k, grad_v = torch.empty_like(reversed_q), torch.zeros_like(k), torch.zeros_like(v)
        dense = _dense(bias, k.shape[2])
        for first, last, keys in ctx.blocks:
            rows, seen = slice(first, last), slice(0, keys)
            parts = backward_kernel(  # type: ignore[misc]
                grad[:, :, rows], reversed_q[:, :, rows], k[:, :, seen], v[:, :, seen], out[:, :, rows],
                lse[:, :, rows], 0.0, False, attn_mask=dense[:, :, rows, seen],
            )  # fmt: skip
            grad_q[:, :, rows] = parts[0]
            grad_k[:, :, seen] += parts[1]
            grad_v[:, :, seen] += parts[2]
        return grad_q.flip(2), grad_k, grad_v, None, None


def _gradients_with_bias(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of queries, keys, values and of the bias, for a bias that is trained."""
    reversed_q, k, v, bias, out, lse = ctx.saved_tensors
    grad_bias = torch.zeros_like(bias)

    def collect(block: QueryBlock, grad_scores: Tensor) -> None:
        first, last, keys = block
        summed = grad_scores.sum(dim=0) if len(bias) > 1 else grad_scores.sum(dim=(0, 1)).unsqueeze(0)
        grad_bias[:, first : first + keys + last - first - 1] += antidiagonal_sums(summed)

    blocks = _blocks(reversed_q.shape[2], k.shape[2], ctx.causal, ROWS)
    grad_q, grad_k, grad_v = gradients(grad, reversed_q, k, v, _dense(bias, k.shape[2]), out, lse, blocks, collect)
    return grad_q.flip(2), grad_k, grad_v, grad_bias


def antidiagonal_sums(x: Float[Tensor, "h rows columns"]) -> Float[Tensor, "h sums"]:
    """Entry g sums x[:, i, j] over i + j = g.

    Rows padded to rows + columns and then read rows + columns - 1 at a time move right by one more step each, which
    puts every antidiagonal into one column.
    """
    heads, rows, columns = x.shape
    padded = torch.nn.functional.pad(x, (0, rows)).flatten(1)[:, : rows * (columns + rows - 1)]
    return padded.view(heads, rows, -1).sum(dim=1)
