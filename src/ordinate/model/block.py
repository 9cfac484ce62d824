"""One layer of a transformer: attention, then a feed-forward network."""

from collections.abc import Callable
from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate.core.encoding import without_autocast
from ordinate.model.attention import attend, choose, weights
from ordinate.model.bound_encoding import BoundEncoding
from ordinate.model.cache import Cache
from ordinate.model.config import ModelConfig
from ordinate.model.packed import Documents
from ordinate.model.swiglu import swiglu


def make_norm(config: ModelConfig) -> nn.Module:
    """LayerNorm, or RMSNorm."""
    return nn.LayerNorm(config.dim) if config.norm == "layer" else nn.RMSNorm(config.dim, eps=1e-6)


class Attention(nn.Module):
    """Multi-head attention; calls encodings only through their hooks."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.width, self.layer = config.heads, config.kv_heads, config.head_dim, layer
        self.inputs = nn.Linear(config.dim, (self.heads + 2 * self.kv_heads) * self.width, bias=config.bias)
        self.output = nn.Linear(self.heads * self.width, config.dim, bias=config.bias)
        self.q_norm = nn.RMSNorm(self.width, eps=1e-6) if config.qk_norm else None
        self.k_norm = nn.RMSNorm(self.width, eps=1e-6) if config.qk_norm else None
        self.watch: Callable[[Tensor, str], None] | None = None

    def forward(
        self, x: Float[Tensor, "b n d"], bound: BoundEncoding, cache: Cache | None, documents: Documents | None
    ) -> Float[Tensor, "b n inner"]:
        inputs, read = self.inputs(x), None
        with without_autocast(x):
            if bound.encoding.feature_width:
                read = self.read(x if documents is None else documents.pad(x), bound, cache)
            if documents is not None:
                inputs = documents.pad(inputs)
            b, n, _ = inputs.shape
            heads = self.attend(inputs.view(b, n, -1, self.width).transpose(1, 2), bound, cache, read)
        rows = heads.transpose(1, 2).reshape(b, n, -1)
        return rows if documents is None else documents.unpad(rows, len(x))

    def read(self, x: Float[Tensor, "b n d"], bound: BoundEncoding, cache: Cache | None) -> Float[Tensor, "b k w"]:
        """The features of all tokens so far, which the encoding computes from this layer's input."""
        features = bound.features(x, None if cache is None else cache.features_before(self.layer))
        assert features is not None
        return features if cache is None else cache.write_features(self.layer, features)

    def attend(
        self,
        heads: Float[Tensor, "b all n e"],
        bound: BoundEncoding,
        cache: Cache | None,
        features: Float[Tensor, "b k w"] | None = None,
    ) -> Float[Tensor, "b h n e"]:
        """Attention over the projected heads: queries, then keys, then values."""
        encoding, h, g = bound.encoding, self.heads, self.kv_heads
        both, v = heads.split((h + g, g), dim=1)  # one split: slices would allocate zero-filled gradients
        own = None if features is None else bound.context.query_features(features)
        late = cache is not None and not encoding.cacheable  # the cache holds unrotated keys, rotated at every step
        if self.q_norm is None and not encoding.side_dependent and not late:
            q, k = encoding.rotate(both, bound.own_state, "q", own).split((h, g), dim=1)
        else:
            q, k = both.split((h, g), dim=1)
            if self.q_norm is not None and self.k_norm is not None:
                kind = self.q_norm.weight.dtype  # under autocast wider than that of q and k
                q, k = self.q_norm(q.to(kind)), self.k_norm(k.to(kind))
            q = encoding.rotate(q, bound.own_state, "q", own)
            k = k if late else encoding.rotate(k, bound.own_state, "k", own)
        if cache is not None:
            k, v = cache.write(self.layer, k, v)
        if late:
            k = encoding.rotate(k, bound.key_state, "k", features)
        if q.dtype != v.dtype:  # under autocast, norms give float32
            q, k = q.to(v.dtype), k.to(v.dtype)
        if self.watch is not None:
            self.watch(weights(q, k, bound, features).detach(), choose(q, k, bound))
        return attend(q, k, v, bound, features=features)


class Block(nn.Module):
    """Attention and feed-forward, each with its norm and its residual."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.norm_place, self.residual, self.dropout = config.norm_place, config.residual, config.dropout
        self.attention = Attention(config, layer)
        gated = config.activation == "swiglu"
        self.wide = nn.Linear(config.dim, config.hidden * (2 if gated else 1), bias=config.bias)
        self.narrow = nn.Linear(config.hidden, config.dim, bias=config.bias)
        self.activation = _ACTIVATIONS[config.activation]
        normed = config.norm_place != "none"
        self.attention_norm = make_norm(config) if normed else None
        self.feed_norm = make_norm(config) if normed else None

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        bound: BoundEncoding,
        cache: Cache | None = None,
        documents: Documents | None = None,
    ) -> Float[Tensor, "b n d"]:
        """With `documents`, attention runs within each of them, and `bound` holds their positions."""
        attended = self.attention(self._before(x, self.attention_norm), bound, cache, documents)
        x = self._add_branch(x, attended, self.attention.output, self.attention_norm)
        return self._add_branch(
            x, self.activation(self.wide(self._before(x, self.feed_norm))), self.narrow, self.feed_norm
        )

    def _before(self, x: Tensor, norm: nn.Module | None) -> Tensor:
        return norm(x) if norm is not None and self.norm_place == "pre" else x

    def _add_branch(self, x: Tensor, branch: Tensor, last: nn.Module, norm: nn.Module | None) -> Tensor:
        """norm(x + dropout(last(branch))): the norm for post-norm models alone, the residual if there is one."""
        dropout = self.dropout if self.training else 0.0
        if self.residual and dropout == 0 and _can_fuse(last, x, branch):
            flat = torch.addmm(x.reshape(-1, x.shape[-1]), branch.reshape(-1, branch.shape[-1]), last.weight.t())
            x = flat.view_as(x)
        else:
            added = F.dropout(last(branch), dropout) if dropout > 0 else last(branch)
            x = x + added if self.residual else added
        return norm(x) if norm is not None and self.norm_place == "post" else x


def _can_fuse(last: nn.Module, x: Tensor, branch: Tensor) -> TypeGuard[nn.Linear]:
    """Whether `x + last(branch)` may be one `addmm`: a plain linear layer without bias and hooks, in one dtype."""
    if type(last) is not nn.Linear or last.bias is not None or last._forward_hooks or x.dtype != branch.dtype:
        return False
    return x.is_meta or not torch.is_autocast_enabled(x.device.type)


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "relu": F.relu, "swiglu": swiglu}
