"""Attention under any encoding. Several paths compute the same thing; the cheapest one that can is chosen."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from ordinate.core.errors import InputError
from ordinate.model.bound import Bound
from ordinate.model.flex import flex
from ordinate.model.gap import available, gap_attention

Path = Literal["fused", "explicit", "blocks", "gap", "flex"]

SHORT = 64  # tokens up to which plain products train faster on a CPU than the fused kernel: 0.8 of its time at 32
GAP_FROM = 192  # shorter sequences gain nothing from blocks
DENSE_LIMIT = 2**26  # scores per layer (256 MB in float32) past which queries go in blocks
BLOCK = 256  # queries per block


def attend(
    q: Float[Tensor, "b h q e"],
    k: Float[Tensor, "b g k e"],
    v: Float[Tensor, "b g k e"],
    bound: Bound,
    path: Path | None = None,
) -> Float[Tensor, "b h q e"]:
    """Attention of queries on keys, both rotated before (`Bound.rotate`). Keys and values may have fewer heads."""
    _check(q, k, bound)
    if k.shape[1] != q.shape[1]:
        share = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)
    return _PATHS[path or choose(q, k, bound)](q, k, v, bound)


def _check(q: Tensor, k: Tensor, bound: Bound) -> None:
    heads, pair = bound.encoding.shape.heads, bound.pair
    if q.shape[1] != heads and not (bound.encoding.biasless and not bound.encoding.content):
        raise InputError(f"{bound.encoding.name} was made for {heads} heads, but the queries have {q.shape[1]}")
    if q.shape[1] % k.shape[1]:
        raise InputError(f"{k.shape[1]} key heads do not divide {q.shape[1]} query heads")
    if (q.shape[2], k.shape[2]) != (pair.q.length, pair.k.length):
        raise InputError(
            f"{q.shape[2]} queries and {k.shape[2]} keys do not fit a pair of {pair.q.length} and {pair.k.length}"
        )


def choose(q: Tensor, k: Tensor, bound: Bound) -> Path:
    """The path that will run. Speed comparisons between encodings must name it, or they are unfair."""
    queries, keys = q.shape[2], k.shape[2]
    large = q.shape[0] * q.shape[1] * queries * keys > DENSE_LIMIT and queries > BLOCK
    if bound.encoding.content:
        return "blocks" if large else "explicit"
    if max(queries, keys) <= SHORT and q.requires_grad and _plain_cpu(q):
        return "explicit"
    if bound.by_gap() and queries >= GAP_FROM and available(q) and bound.pair.start + queries == keys:
        return "gap"
    if bound.encoding.biasless and (bound.pair.all_visible or _plain_causal(bound)):
        return "fused"
    if bound.by_gap() and q.is_cuda and queries > 1:
        return "flex"
    return "blocks" if large else "fused"


def _plain_cpu(q: Tensor) -> bool:
    return q.device.type == "cpu" and q.dtype == torch.float32


def _plain_causal(bound: Bound) -> bool:
    """Causal over a whole sequence, nothing else: what `is_causal` of the fused kernel means."""
    pair, encoding = bound.pair, bound.encoding
    square = pair.causal and pair.start == 0 and pair.q.length == pair.k.length
    return square and pair.keep is None and not pair.separate and encoding.biasless


def _fused(q: Tensor, k: Tensor, v: Tensor, bound: Bound) -> Tensor:
    if _plain_causal(bound):
        return scaled_dot_product_attention(q, k, v, is_causal=True)
    mask = bound.mask()
    if mask is not None and mask.is_floating_point():
        mask = mask.to(q.dtype)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def scores(q: Tensor, k: Tensor, bound: Bound) -> Float[Tensor, "b h q k"]:
    """Scaled scores with everything added, masked, in float32."""
    q, k, mask = q.float(), k.float(), bound.added()
    scaled = q * q.shape[-1] ** -0.5
    if not bound.encoding.content and mask is not None and mask.shape[:2] == (1, 1):  # added by the product itself
        shared = mask[0].expand(q.shape[0] * q.shape[1], -1, -1)
        product = torch.baddbmm(shared, scaled.flatten(0, 1), k.flatten(0, 1).transpose(1, 2))
        return product.view(*q.shape[:3], k.shape[2])
    found = bound.encoding.score(scaled @ k.transpose(2, 3), q, k, bound.pair)
    return found if mask is None else found + mask


def weights(q: Tensor, k: Tensor, bound: Bound) -> Float[Tensor, "b h q k"]:
    """Attention weights: for every query a distribution over keys."""
    if k.shape[1] != q.shape[1]:
        k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    return scores(q, k, bound).softmax(dim=-1)


def _explicit(q: Tensor, k: Tensor, v: Tensor, bound: Bound) -> Tensor:
    return bound.encoding.mix(scores(q, k, bound).softmax(dim=-1), v.float(), bound.pair).to(v.dtype)


def _in_blocks(q: Tensor, k: Tensor, v: Tensor, bound: Bound) -> Tensor:
    """A block of queries at a time, each asking for its own bias; recomputed in the backward pass, never held whole."""
    parts = []
    for start in range(0, q.shape[2], BLOCK):
        again = torch.is_grad_enabled() and not torch.compiler.is_compiling()
        run = partial(checkpoint, _block, use_reentrant=False) if again else _block
        parts.append(run(q, k, v, bound, start, min(start + BLOCK, q.shape[2])))
    return torch.cat(parts, dim=2)


def _block(q: Tensor, k: Tensor, v: Tensor, bound: Bound, start: int, stop: int) -> Tensor:
    part = bound.rows(start, stop)
    keys = part.pair.k.length
    inner = _explicit if bound.encoding.content else _fused
    return inner(q[:, :, start:stop], k[:, :, :keys], v[:, :, :keys], part)


def _by_gap(q: Tensor, k: Tensor, v: Tensor, bound: Bound) -> Tensor:
    encoding, pair = bound.encoding, bound.pair
    if pair.start + pair.q.length != pair.k.length or not bound.by_gap():
        raise InputError("the gap path needs consecutive positions and a bias that depends on the gap alone")
    return gap_attention(
        q, k, v, bound.line(), causal=pair.causal, constant_from=encoding.constant_from() if pair.causal else None
    )


_PATHS: dict[Path, Callable[[Tensor, Tensor, Tensor, Bound], Tensor]] = {
    "fused": _fused,
    "explicit": _explicit,
    "blocks": _in_blocks,
    "gap": _by_gap,
    "flex": flex,
}
