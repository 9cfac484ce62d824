"""FlexAttention for CUDA: bias and mask fused, without a dense bias.

Tests compare the uncompiled reference of FlexAttention with the other paths on a CPU; the kernel needs a GPU.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from ordinate.model.bound_encoding import BoundEncoding

_compiled: Any = None


def flex(q: Tensor, k: Tensor, v: Tensor, bound: BoundEncoding, features: Tensor | None = None) -> Tensor:
    """Attention with `diagonal_bias` as score_mod, and visibility as a block mask."""
    start, last = bound.context.start, q.shape[2] - 1
    score_mod = mask = None
    if bound.encoding.has_bias:
        bias = bound.diagonal_bias().expand(q.shape[1], -1)
        score_mod = lambda score, b, h, i, j: score + bias[h, last - i + j]  # noqa: E731
    if bound.context.causal:
        sees = lambda b, h, i, j: j <= i + start  # noqa: E731
        mask = create_block_mask(sees, None, None, q.shape[2], k.shape[2], device=q.device)
    out = _kernel(q.is_cuda)(q, k, v, score_mod=score_mod, block_mask=mask)
    assert isinstance(out, Tensor)
    return out


def _kernel(cuda: bool) -> Any:
    global _compiled
    if not cuda:
        return flex_attention
    if _compiled is None:
        _compiled = torch.compile(flex_attention)
    return _compiled
