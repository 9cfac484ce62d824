"""Encodings that fit a transformers model, and whether one can be attached to it at all."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from torch import nn

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator
from ordinate.model.assemble import check_encodings, distinct, make_encodings
from ordinate.model.config import ModelConfig


def attentions(base: Any) -> list[Any]:
    """The attention of every layer, in order. Refuses models that no encoding can be attached to."""
    name, config = type(base).__name__, base.config
    if config.is_encoder_decoder or getattr(config, "add_cross_attention", False):
        raise InputError(f"{name} attends to another sequence too: only models without cross-attention can be attached")
    if not (base._supports_attention_backend and base._can_set_attn_implementation()):
        raise InputError(f"{name} does not use transformers' attention interface, so no encoding can be attached to it")
    if not isinstance(base.get_input_embeddings(), nn.Embedding):
        raise InputError(f"{name} has no table of token embeddings, so no encoding can be attached to it")
    _refuse_windows(name, config)
    devices = {weight.device for weight in base.parameters()}
    if len(devices) > 1 or any(device.type == "meta" for device in devices):
        listed = " and ".join(sorted(map(str, devices)))
        raise InputError(f"{name} lies on {listed}: an encoding is attached to a model on one device, with its weights")
    found = [m for m in base.modules() if isinstance(getattr(m, "layer_idx", None), int) and hasattr(m, "is_causal")]
    found.sort(key=lambda module: module.layer_idx)
    layers = getattr(config, "num_hidden_layers", 0)
    if not layers or [module.layer_idx for module in found] != list(range(layers)):
        indexed = f"{len(found)} attention modules with the index of one of its {layers} layers"
        raise InputError(f"{name} has {indexed}: only a model with one in every layer can be attached")
    return found


def _refuse_windows(name: str, config: Any) -> None:
    types = set(getattr(config, "layer_types", None) or ())
    window = None if types else getattr(config, "sliding_window", None)
    if window is not None or types - {"full_attention"}:
        found = f"a sliding window of {window}" if window is not None else ", ".join(sorted(types - {"full_attention"}))
        raise InputError(
            f"{name} has layers that do not see everything ({found}), which encodings do not know: set layer_types to"
            " full_attention and sliding_window to None in its configuration"
        )


def fitting(base: Any, layers: Sequence[Any], encoding: Any, length: int | None, seed: int) -> list[Encoding]:
    """One encoding for every layer: fresh ones if named, as they are if given as objects."""
    chosen = [encoding] if isinstance(encoding, str | Encoding) else encoding
    if not isinstance(chosen, list | tuple) or not chosen or not all(isinstance(one, str | Encoding) for one in chosen):
        raise InputError(f"attach_hf takes encodings as text or as objects, got {encoding!r}")
    texts = [one for one in chosen if isinstance(one, str)]
    if texts and len(texts) < len(chosen):
        raise InputError("give encodings as text or as objects, not both")
    config = _config(base, layers, tuple(texts) or ("none",), length)
    if texts:
        per_layer = make_encodings(config)
        seen: Counter[str] = Counter()
        for part in distinct(per_layer):  # as our own transformer draws them
            part.reset(generator(seed, "init", "encoding", part.name, seen[part.name]))
            seen[part.name] += 1
    else:
        per_layer = list(chosen) * len(layers) if len(chosen) == 1 else list(chosen)
    check_encodings(config, per_layer)
    for part in distinct(per_layer):
        if "relation" in part.extra_inputs:
            raise InputError(f"{part.name} reads a relation between tokens, which transformers has no argument for")
    return per_layer


def _config(base: Any, layers: Sequence[Any], encoding: tuple[str, ...], length: int | None) -> ModelConfig:
    """What encodings must know of the model."""
    config, weight = base.config, base.get_input_embeddings().weight
    dim, heads, name = config.hidden_size, config.num_attention_heads, type(base).__name__
    causal = {bool(layer.is_causal) and getattr(config, "is_causal", None) is not False for layer in layers}
    if len(causal) > 1:
        raise InputError(f"{name} has causal layers beside bidirectional ones, which no encoding knows")
    length = length or getattr(config, "max_position_embeddings", None)
    if length is None:
        raise InputError(f"{name} does not state its trained length: pass length= to attach_hf")
    shared = getattr(config, "num_key_value_heads", None)  # grouped keys
    size = float(weight.detach().float().square().mean().sqrt()) or None  # what is added is matched to it
    return ModelConfig(
        vocabulary=len(weight), encoding=encoding, dim=dim, heads=heads, layers=len(layers), length=length,
        head_dim=getattr(config, "head_dim", None) or dim // heads, causal=causal.pop(), embedding_std=size,
        kv_heads=shared if isinstance(shared, int) else heads,
    )  # fmt: skip
