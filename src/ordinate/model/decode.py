"""One decoding step without module calls, which for one token per row cost more than the arithmetic."""

from collections.abc import Callable
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate.model.block import Attention, Block
from ordinate.model.bound_encoding import BoundEncoding
from ordinate.model.cache import Cache
from ordinate.model.inputs import check_inputs
from ordinate.model.transformer import Transformer

Function = Callable[[Tensor], Tensor]


class Decoder:
    """The arithmetic of `Transformer.forward` for one new token per row, with all weights looked up once."""

    def __init__(self, model: Transformer, cache: Cache) -> None:
        self.model, self.cache = model, cache
        self.table = model.embedding.weight
        self.layers = [_layer(cast(Block, block), cache) for block in model.blocks] if _standard(model) else []
        self.norm = _norm(model.norm)
        self.head = model.embedding.weight if model.head is None else model.head.weight

    def __call__(self, tokens: Int[Tensor, " b"], **inputs: Tensor) -> Float[Tensor, "b outputs"]:
        """Logits for what follows these tokens; `inputs` are the other inputs of `forward`."""
        model, cache = self.model, self.cache
        rows = tokens.unsqueeze(1)
        if not self.layers:
            logits: Tensor = model(rows, cache=cache, **inputs)
            return logits[:, -1]
        positions = check_inputs(model.config, model.parts, rows, cache=cache, **cast(dict[str, Any], inputs))
        context = model.context(positions, cache)
        x, bounds, _ = model.embed_and_bind(F.embedding(rows, self.table), context)
        flat = x[:, 0]
        for layer, bound in zip(self.layers, bounds, strict=True):
            flat = layer(flat, bound)
        cache.commit(context.k, explicit=inputs.get("positions") is not None)
        return F.linear(self.norm(flat), self.head)


def _standard(model: Transformer) -> bool:
    """Whether all modules are the library's own and have no hooks, so that their calls can be skipped."""
    own = (Transformer, Block, Attention, nn.Linear, nn.LayerNorm, nn.RMSNorm, nn.Embedding, nn.ModuleList)
    for module in model.modules():
        if module._forward_hooks or module._forward_pre_hooks:
            return False
        inside = any(module is part for encoding in model.parts for part in encoding.modules())
        if not inside and type(module) not in own:
            return False
    return True


def _layer(block: Block, cache: Cache) -> Callable[..., Tensor]:
    attention: Attention = block.attention
    attend, read, width = attention.attend, attention.read, attention.width
    inputs, output = _linear(attention.inputs), _linear(attention.output)
    wide, narrow, activation = _linear(block.wide), _linear(block.narrow), block.activation
    pre, post, residual = block.norm_place == "pre", block.norm_place == "post", block.residual
    first, second = _norm(block.attention_norm), _norm(block.feed_norm)

    def run(x: Tensor, bound: BoundEncoding) -> Tensor:
        rows = x.shape[0]
        inner = first(x) if pre else x
        heads = inputs(inner).view(rows, -1, 1, width)
        features = read(inner.unsqueeze(1), bound, cache) if bound.encoding.feature_width else None
        added = output(attend(heads, bound, cache, features).reshape(rows, -1))
        x = x + added if residual else added
        x = first(x) if post else x
        added = narrow(activation(wide(second(x) if pre else x)))
        x = x + added if residual else added
        return second(x) if post else x

    return run


def _linear(layer: nn.Linear) -> Function:
    weight, bias, linear = layer.weight, layer.bias, F.linear
    return lambda x: linear(x, weight, bias)


def _norm(norm: nn.Module | None) -> Function:
    if isinstance(norm, nn.LayerNorm):
        shape, weight, bias, eps = list(norm.normalized_shape), norm.weight, norm.bias, norm.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)
    if isinstance(norm, nn.RMSNorm):
        shape, weight, rms_eps = list(norm.normalized_shape), norm.weight, norm.eps
        return lambda x: torch.rms_norm(x, shape, weight, rms_eps)
    return lambda x: x
