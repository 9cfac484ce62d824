"""FlexAttention for CUDA: bias, causality and documents fused, without a dense bias or mask.

Tests compare the uncompiled reference of FlexAttention with the other paths on a CPU; the kernel needs a GPU.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention

from ordinate.core.positions import AttentionContext
from ordinate.model.bound_encoding import BoundEncoding

_compiled: Any = None


def flex(q: Tensor, k: Tensor, v: Tensor, bound: BoundEncoding, features: Tensor | None = None) -> Tensor:
    """Attention with `diagonal_bias` as score_mod, and visibility as a block mask, which the layers share."""
    last, score_mod = q.shape[2] - 1, None
    if bound.encoding.has_bias:
        bias = bound.diagonal_bias().expand(q.shape[1], -1)
        score_mod = lambda score, b, h, i, j: score + bias[h, last - i + j]  # noqa: E731
    if bound.block_mask is None and not bound.context.all_visible:
        bound.block_mask = _block_mask(bound.context, q)
    out = _kernel(q.is_cuda)(q, k, v, score_mod=score_mod, block_mask=bound.block_mask)
    assert isinstance(out, Tensor)
    return out


def _block_mask(context: AttentionContext, q: Tensor) -> Any:
    """Which keys each query sees; blocks of keys that no query of a block sees are skipped."""
    start, batch, device = context.start, len(q), q.device
    earlier = lambda b, h, i, j: j <= i + start  # noqa: E731 - it counts the arguments, which a checked function hides
    if not context.mask_documents or context.q.document_ids is None or context.k.document_ids is None:
        return create_block_mask(earlier, None, None, context.q.length, context.k.length, device=device)
    own, ids = (rows.expand(batch, -1) for rows in (context.q.document_ids, context.k.document_ids))
    same = lambda b, h, i, j: own[b, i] == ids[b, j]  # noqa: E731
    sees = and_masks(same, earlier) if context.causal else same
    return create_block_mask(sees, batch, None, context.q.length, context.k.length, device=device)


def _kernel(cuda: bool) -> Any:
    global _compiled
    if not cuda or torch.compiler.is_compiling():  # compiled code compiles it as a part of itself
        return flex_attention
    if _compiled is None:
        _compiled = torch.compile(flex_attention)
    return _compiled
