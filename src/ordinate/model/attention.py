"""Attention with any encoding. Several paths compute the same result; `choose` picks the cheapest that supports it."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from ordinate.core.encoding import Features, upcast
from ordinate.core.errors import InputError
from ordinate.model.bound_encoding import BoundEncoding
from ordinate.model.flex import flex
from ordinate.model.toeplitz import toeplitz_attention
from ordinate.model.trained_bias import available, biased_attention

Path = Literal["fused", "explicit", "blocks", "toeplitz", "flex"]

SHORT = 64  # up to here plain products train faster on a CPU than the fused kernel: 0.8 of its time at 32 tokens
TOEPLITZ_FROM = 192  # shorter sequences gain nothing from it
DENSE_LIMIT = 2**26  # scores per layer (256 MB in float32) above which queries run in blocks
BLOCK = 256  # queries per block, at most
BLOCK_SCORES = 2**23  # scores per block (32 MB in float32), unless that leaves fewer than 64 queries


def attend(
    q: Float[Tensor, "b h q e"],
    k: Float[Tensor, "b g k e"],
    v: Float[Tensor, "b g k v"],
    bound: BoundEncoding,
    path: Path | None = None,
    features: Float[Tensor, "b k w"] | None = None,
) -> Float[Tensor, "b h q v"]:
    """Attention of rotated queries and keys (`BoundEncoding.rotate`). Keys and values may have fewer heads (GQA).

    `features` are those of all keys (`BoundEncoding.features`), for encodings that read the layer's input.
    """
    _check(q, k, bound, features)
    if k.shape[1] != q.shape[1]:
        share = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)
    if path is None:
        path = choose(q, k, bound)
    elif path not in _PATHS:
        raise InputError(f"unknown path {path!r}: choose one of {', '.join(_PATHS)}")
    elif why := unsupported(path, q, k, bound):
        raise InputError(f"the {path} path does not support this: {why}")
    width = v.shape[-1]
    if width < q.shape[-1] and not bound.encoding.needs_scores:
        # the encoding widened q and k, and fused kernels need equal widths
        return _PATHS[path](q, k, pad(v, (0, q.shape[-1] - width)), bound, features)[..., :width]
    return _PATHS[path](q, k, v, bound, features)


def unsupported(path: Path, q: Tensor, k: Tensor, bound: BoundEncoding) -> str:
    """Why a path does not support this encoding and context; empty if it does."""
    encoding, context = bound.encoding, bound.context
    if path in ("fused", "toeplitz", "flex") and encoding.needs_scores:
        return f"{encoding.name} changes the scores themselves, which this kernel never holds"
    if path == "toeplitz" and not (bound.is_toeplitz() and context.start + context.q.length == context.k.length):
        return "it needs consecutive positions up to the last key, and a bias by relative position alone"
    if path == "toeplitz" and not available(q):
        return f"it needs float32 on a CPU, outside compiled code; these are {q.dtype} on {q.device.type}"
    if path == "flex" and context.padding_mask is not None:
        return "it does not support padding"
    if path == "flex" and encoding.has_bias and not bound.has_diagonal_bias():
        return "it needs consecutive positions and a bias by relative position alone"
    return ""


def _check(q: Tensor, k: Tensor, bound: BoundEncoding, features: Features | None) -> None:
    heads, context = bound.encoding.shape.heads, bound.context
    if q.shape[1] != heads and (bound.encoding.has_bias or bound.encoding.needs_scores):
        raise InputError(f"{bound.encoding.name} was created for {heads} heads, but the queries have {q.shape[1]}")
    if q.shape[1] % k.shape[1]:
        raise InputError(f"{k.shape[1]} key heads do not divide {q.shape[1]} query heads")
    if (q.shape[2], k.shape[2]) != (context.q.length, context.k.length):
        raise InputError(
            f"{q.shape[2]} queries and {k.shape[2]} keys do not fit a context of {context.q.length} and"
            f" {context.k.length}"
        )
    wanted, found = bound.encoding.feature_width, 0 if features is None else features.shape[2]
    if wanted != found:
        raise InputError(
            f"{bound.encoding.name} reads {wanted} features per token from the layer's input, got {found}:"
            " pass features=bound.features(x)"
        )


def choose(q: Tensor, k: Tensor, bound: BoundEncoding) -> Path:
    """The path that `attend` runs. Speed comparisons between encodings must report it."""
    queries, keys = q.shape[2], k.shape[2]
    large = q.shape[0] * q.shape[1] * queries * keys > DENSE_LIMIT and queries > BLOCK
    if bound.encoding.needs_scores:
        return "blocks" if large else "explicit"
    if max(queries, keys) <= SHORT and q.requires_grad and _plain_cpu(q):
        return "explicit"
    if bound.is_toeplitz() and queries >= TOEPLITZ_FROM and available(q) and bound.context.start + queries == keys:
        return "toeplitz"
    if not bound.encoding.has_bias and (bound.context.all_visible or _plain_causal(bound)):
        return "fused"
    documents = bound.context.mask_documents and bound.context.padding_mask is None
    if q.is_cuda and queries > 1 and (bound.has_diagonal_bias() or (documents and not bound.encoding.has_bias)):
        return "flex"
    return "blocks" if large else "fused"


def _plain_cpu(q: Tensor) -> bool:
    return q.device.type == "cpu" and q.dtype == torch.float32


def _plain_causal(bound: BoundEncoding) -> bool:
    """Whether `is_causal=True` is the whole mask: causal self-attention without padding, documents or bias."""
    context, encoding = bound.context, bound.encoding
    square = context.causal and context.start == 0 and context.q.length == context.k.length
    return square and context.padding_mask is None and not context.mask_documents and not encoding.has_bias


def _fused(q: Tensor, k: Tensor, v: Tensor, bound: BoundEncoding, features: Features | None) -> Tensor:
    if _plain_causal(bound):
        return scaled_dot_product_attention(q, k, v, is_causal=True)
    mask = bound.mask()
    if mask is not None and mask.is_floating_point():
        # On a CPU the kernel takes a float32 mask with narrower queries: in bfloat16, 4,096 distances are 129 values.
        narrow = q.dtype in (torch.bfloat16, torch.float16) and q.device.type == "cpu"
        mask = mask.to(torch.float32 if narrow else q.dtype)
        if mask.requires_grad and available(q) and q.shape[-1] == v.shape[-1]:
            return biased_attention(q, k, v, mask, bound.context.start if bound.context.causal else None)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def scores(q: Tensor, k: Tensor, bound: BoundEncoding, features: Features | None = None) -> Float[Tensor, "b h q k"]:
    """Scaled scores with bias and mask, in float32; in float64 for float64 queries."""
    q, k, mask, encoding = upcast(q), upcast(k), bound.additive_mask(), bound.encoding
    if not encoding.needs_scores and mask is not None and mask.shape[:2] == (1, 1):  # one fused product and sum
        shared = mask[0].to(q.dtype).expand(q.shape[0] * q.shape[1], -1, -1)
        scaled = q * q.shape[-1] ** -0.5
        product = torch.baddbmm(shared, scaled.flatten(0, 1), k.flatten(0, 1).transpose(1, 2))
        return product.view(*q.shape[:3], k.shape[2])
    modified = encoding.score_mod(encoding.qk_scores(q, k, bound.context, features), q, k, bound.context, features)
    return modified if mask is None else modified + mask.to(modified.dtype)


def weights(q: Tensor, k: Tensor, bound: BoundEncoding, features: Features | None = None) -> Float[Tensor, "b h q k"]:
    """Attention weights: a distribution over keys for every query."""
    if k.shape[1] != q.shape[1]:
        k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    return scores(q, k, bound, features).softmax(dim=-1)


def _explicit(q: Tensor, k: Tensor, v: Tensor, bound: BoundEncoding, features: Features | None) -> Tensor:
    weights = scores(q, k, bound, features).softmax(dim=-1)
    return bound.encoding.weighted_values(weights, upcast(v), bound.context).to(v.dtype)


def _in_blocks(q: Tensor, k: Tensor, v: Tensor, bound: BoundEncoding, features: Features | None) -> Tensor:
    """One block of queries at a time, each with its own bias; recomputed in the backward pass."""
    parts = []
    size = min(BLOCK, max(64, BLOCK_SCORES // (q.shape[0] * q.shape[1] * k.shape[2])))
    for start in range(0, q.shape[2], size):
        recompute = torch.is_grad_enabled() and not torch.compiler.is_compiling()
        run = partial(checkpoint, _block, use_reentrant=False) if recompute else _block
        parts.append(run(q, k, v, bound, features, start, min(start + size, q.shape[2])))
    return torch.cat(parts, dim=2)


def _block(
    q: Tensor, k: Tensor, v: Tensor, bound: BoundEncoding, features: Features | None, start: int, stop: int
) -> Tensor:
    part = bound.query_block(start, stop)
    keys = part.context.k.length
    inner = _explicit if bound.encoding.needs_scores else _fused
    read = None if features is None else features[:, :keys]
    return inner(q[:, :, start:stop], k[:, :, :keys], v[:, :, :keys], part, read)


def _toeplitz(q: Tensor, k: Tensor, v: Tensor, bound: BoundEncoding, features: Features | None) -> Tensor:
    return toeplitz_attention(q, k, v, bound.diagonal_bias(), causal=bound.context.causal)


_PATHS: dict[Path, Callable[[Tensor, Tensor, Tensor, BoundEncoding, Features | None], Tensor]] = {
    "fused": _fused,
    "explicit": _explicit,
    "blocks": _in_blocks,
    "toeplitz": _toeplitz,
    "flex": flex,
}
