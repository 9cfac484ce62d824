"""The attention function that transformers calls in every layer of an attached model."""

import math
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate.core.encoding import upcast, without_autocast
from ordinate.core.errors import InputError
from ordinate.interop.passing import Pass
from ordinate.model.attention import attend, weights

NAME = "ordinate"  # of this function among those of transformers

# Options of some models' attention that no encoding supports.
_BEYOND = {
    "sliding_window": "a sliding window",
    "softcap": "a cap on scores",
    "s_aux": "attention sinks",
    "position_bias": "a position bias of its own",
}


def attention(
    module: nn.Module,
    query: Float[Tensor, "b h q e"],
    key: Float[Tensor, "b g k e"],
    value: Float[Tensor, "b g k v"],
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    ordinate: Pass | None = None,
    ordinate_features: Float[Tensor, "b k w"] | None = None,
    **options: Any,
) -> tuple[Float[Tensor, "b q h v"], Float[Tensor, "b h q k"] | None]:
    """Attention under the encoding of this layer. Keys come unrotated out of the cache, all of them."""
    bound = _bound(module, ordinate, attention_mask, options)
    width = bound.encoding.shape.head_dim
    if query.shape[-1] != width or key.shape[-1] != width:
        found = f"queries have {query.shape[-1]} channels and keys {key.shape[-1]}"
        raise InputError(f"{bound.encoding.name} was made for a head width of {width}, but {found}")
    if scaling is not None and not math.isclose(scaling * math.sqrt(width), 1.0, rel_tol=1e-6):
        query = query * (scaling * math.sqrt(width))  # scores are divided by sqrt(width) later
    assert ordinate is not None
    with without_autocast(query):
        q, k = (x.to(value.dtype) for x in bound.rotate(query, key, ordinate_features))
        if not dropout and not ordinate.weights:
            return attend(q, k, value, bound, features=ordinate_features).transpose(1, 2).contiguous(), None
        kept = weights(q, k, bound, ordinate_features)
        v = value.repeat_interleave(q.shape[1] // value.shape[1], dim=1)
        mixed = bound.encoding.weighted_values(F.dropout(kept, dropout), upcast(v), bound.context).to(value.dtype)
        return mixed.transpose(1, 2).contiguous(), kept.to(query.dtype)


def read(module: nn.Module, args: tuple[Any, ...], given: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Before a layer's attention: what its encoding reads from the layer's input goes along to `attention`."""
    ordinate, layer = given.get("ordinate"), module.layer_idx
    if ordinate is None:
        return args, given
    x = args[0] if args else given["hidden_states"]
    memory = ordinate.memory
    assert isinstance(layer, int)
    with without_autocast(x):
        features = ordinate.bound(layer).features(x, None if memory is None else memory.features(layer))
    if features is not None and memory is not None:
        features = memory.append(memory.layers + 1 + layer, features)
    return args, given | {"ordinate_features": features}


def _bound(module: nn.Module, ordinate: Pass | None, mask: Tensor | None, options: dict[str, Any]) -> Any:
    if ordinate is None:
        fix = "call the whole model that one is attached to, or load a saved one with ordinate.load_hf"
        raise InputError(f"{type(module).__name__} runs as {NAME!r} but got no encoding: {fix}")
    if mask is not None:
        raise InputError("an attached model was given a mask of its own making: pass an attention_mask of shape [b, n]")
    for name, what in _BEYOND.items():
        if options.get(name) is not None:
            raise InputError(f"{type(module).__name__} uses {what}, which an attached encoding does not support")
    if options.get("is_causal") not in (None, ordinate.context.causal):
        raise InputError(f"{type(module).__name__} switches between causal and bidirectional attention: not supported")
    layer = module.layer_idx
    assert isinstance(layer, int)
    return ordinate.bound(layer)
