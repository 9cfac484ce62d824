"""Attention with a trained bias: the fused CPU kernel forward, and a backward pass that the kernel lacks.

The kernel returns no gradient for its mask. Autograd would hold several score matrices per sequence; here the
scores are recomputed a few queries at a time, and their gradients are summed over the batch at once.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

forward_kernel = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)
backward_kernel = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu_backward", None)

QueryBlock = tuple[int, int, int]  # first query, last query (exclusive), number of keys they attend to
ROWS = 64  # queries per block of the backward pass: their scores stay in the processor's cache


def available(q: Tensor) -> bool:
    """Whether the fused CPU kernel, a private operator of torch, exists and supports these queries."""
    ready = forward_kernel is not None and backward_kernel is not None and q.device.type == "cpu"
    return ready and q.dtype == torch.float32 and not torch.compiler.is_compiling()


def biased_attention(
    q: Float[Tensor, "b h q e"],
    k: Float[Tensor, "b h k e"],
    v: Float[Tensor, "b h k e"],
    bias: Float[Tensor, "#b #h q k"],
    start: int | None,
) -> Float[Tensor, "b h q e"]:
    """Attention whose scores get `bias` added. `start`: query t sees no key past start + t; None: it may see all."""
    out: Tensor = _BiasedAttention.apply(q, k, v, bias, start)  # type: ignore[no-untyped-call]
    return out


def gradients(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, out: Tensor, lse: Tensor,
    blocks: list[QueryBlock], collect: Callable[[QueryBlock, Tensor], None],
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of queries, keys and values; those of scores go to `collect`, block by block, [b, h, rows, keys]."""
    b, h, scale = q.shape[0], q.shape[1], q.shape[-1] ** -0.5
    delta = (grad * out).sum(dim=-1, keepdim=True).flatten(0, 1)
    norm = lse.reshape(b * h, -1, 1)
    q, k, v, grad = ((x * scale if x is q else x).reshape(b * h, *x.shape[2:]) for x in (q, k, v, grad))
    grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for first, last, keys in blocks:
        rows = slice(first, last)
        block_q, block_grad, block_k, block_v = q[:, rows], grad[:, rows], k[:, :keys], v[:, :keys]
        scores = torch.bmm(block_q, block_k.transpose(1, 2))
        scores.view(b, h, last - first, keys).add_(bias[:, :, rows, :keys])
        weights = scores.sub_(norm[:, rows]).exp_()
        grad_v[:, :keys].baddbmm_(weights.transpose(1, 2), block_grad)
        grad_scores = torch.bmm(block_grad, block_v.transpose(1, 2)).sub_(delta[:, rows]).mul_(weights)
        torch.bmm(grad_scores, block_k, out=grad_q[:, rows])
        grad_k[:, :keys].baddbmm_(grad_scores.transpose(1, 2), block_q)
        collect((first, last, keys), grad_scores.view(b, h, last - first, keys))
    return grad_q.mul_(scale).view(b, h, *q.shape[1:]), grad_k.view(b, h, *k.shape[1:]), grad_v.view(b, h, *v.shape[1:])


class _BiasedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, start: int | None) -> Tensor:
        out, lse = torch.empty_like(q), q.new_empty(q.shape[:3])
        for first, last, keys in _blocks(q.shape[2], k.shape[2], start, 128):
            mask = bias[:, :, first:last, :keys]
            part, norm = forward_kernel(q[:, :, first:last], k[:, :, :keys], v[:, :, :keys], 0.0, False, attn_mask=mask)  # type: ignore[misc]
            out[:, :, first:last], lse[:, :, first:last] = part, norm
        ctx.save_for_backward(q, k, v, bias, out, lse)
        ctx.start = start
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        q, k, v, bias, out, lse = ctx.saved_tensors
        grad_bias = torch.zeros_like(bias, memory_format=torch.contiguous_format)
        shared = [dim for dim in (0, 1) if bias.shape[dim] == 1 and q.shape[dim] > 1]

        def collect(block: QueryBlock, grad_scores: Tensor) -> None:
            first, last, keys = block
            grad_bias[:, :, first:last, :keys] = grad_scores.sum(dim=shared, keepdim=True) if shared else grad_scores

        blocks = _blocks(q.shape[2], k.shape[2], ctx.start, ROWS)
        return *gradients(grad, q, k, v, bias, out, lse, blocks, collect), grad_bias, None


def _blocks(queries: int, keys: int, start: int | None, size: int) -> list[QueryBlock]:
    ends = [(row, min(row + size, queries)) for row in range(0, queries, size)]
    return [(first, last, keys if start is None else min(start + last, keys)) for first, last in ends]
