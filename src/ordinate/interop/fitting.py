"""Encodings that fit a transformers model, and whether one can be attached to it at all."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.parsing import Choice
from ordinate.core.seeds import generator
from ordinate.encodings import registry
from ordinate.interop.installed import transformers
from ordinate.model.assemble import check_encodings, distinct, make_encodings
from ordinate.model.config import ModelConfig

Description = dict[str, Any]  # what attached encodings can be made from again: encoding, length, token_size

# Their layers do not pass keyword arguments on to their attention, which is how an encoding gets there.
_CLOSED = ("nemotron", "stablelm")


def carrier(model: Any) -> Any:
    """The innermost model that has all layers and is called by the others: in OPT the decoder, not the model."""
    base, kind = model.base_model, transformers().PreTrainedModel
    inner = [m for m in base.modules() if isinstance(m, kind) and m is not base and m.config is base.config]
    layers = _attention_modules(base)
    held = [m for m in inner if layers and len(_attention_modules(m)) == len(layers)]
    return held[-1] if held else base


def _attention_modules(base: nn.Module) -> list[Any]:
    return [m for m in base.modules() if isinstance(getattr(m, "layer_idx", None), int) and hasattr(m, "is_causal")]


def attentions(base: Any) -> list[Any]:
    """The attention of every layer, in order. Refuses models that no encoding can be attached to."""
    name, config = type(base).__name__, base.config
    if config.is_encoder_decoder or getattr(config, "add_cross_attention", False):
        raise InputError(f"{name} attends to another sequence too: only models without cross-attention can be attached")
    if not (base._supports_attention_backend and base._can_set_attn_implementation()):
        raise InputError(f"{name} does not use transformers' attention interface, so no encoding can be attached to it")
    if config.model_type in _CLOSED:
        raise InputError(
            f"the layers of {name} pass nothing on to their attention, so no encoding can be attached to it"
        )
    if not isinstance(base.get_input_embeddings(), nn.Embedding):
        raise InputError(f"{name} has no table of token embeddings, so no encoding can be attached to it")
    _refuse_windows(name, config)
    devices = {weight.device for weight in base.parameters()}
    if len(devices) > 1 or any(device.type == "meta" for device in devices):
        listed = " and ".join(sorted(map(str, devices)))
        raise InputError(f"{name} lies on {listed}: an encoding is attached to a model on one device, with its weights")
    found = sorted(_attention_modules(base), key=lambda module: module.layer_idx)
    layers = getattr(config, "num_hidden_layers", 0)
    if not layers or [module.layer_idx for module in found] != list(range(layers)):
        indexed = f"{len(found)} attention modules with the index of one of its {layers} layers"
        raise InputError(f"{name} has {indexed}: only a model with one in every layer can be attached")
    return found


def _refuse_windows(name: str, config: Any) -> None:
    """Refuse layers that do not see everything, with a way out that transformers takes too."""
    types = getattr(config, "layer_types", None) or ()
    other = sorted(set(types) - {"full_attention"})
    window = None if types else getattr(config, "sliding_window", None)
    if window is None and not other:
        return
    found = ", ".join(other) if window is None else f"a sliding window of {window}"
    fix = "which no encoding can be attached to"
    if window is not None:
        fix = "which encodings do not know: make it from a configuration with sliding_window=None"
    elif other == ["sliding_attention"]:
        fix = f'which encodings do not know: make it with layer_types=["full_attention"] * {len(types)}'
    raise InputError(f"{name} has layers that do not see everything ({found}), {fix}")


def fitting(
    base: Any, layers: Sequence[Any], encoding: Any, length: int | None, seed: int, token_size: float | None
) -> tuple[list[Encoding], Description | None]:
    """One encoding for every layer: fresh ones if named, as they are if given as objects. And their description."""
    chosen = [encoding] if isinstance(encoding, str | Encoding) else encoding
    if not isinstance(chosen, list | tuple) or not chosen or not all(isinstance(one, str | Encoding) for one in chosen):
        raise InputError(f"attach_hf takes encodings as text or as objects, got {encoding!r}")
    texts = [one for one in chosen if isinstance(one, str)]
    if texts and len(texts) < len(chosen):
        raise InputError("give encodings as text or as objects, not both")
    config = _config(base, layers, tuple(texts) or ("none",), length, token_size)
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
        width = base.get_input_embeddings().embedding_dim
        if part.overrides("embed") and width != config.dim:
            raise InputError(
                f"{part.name} is added to token embeddings, which have {width} channels in this {type(base).__name__}"
                f" and are projected to {config.dim} later: attach an encoding that adds nothing to them"
            )
    return per_layer, _describe(config, per_layer)


def _describe(config: ModelConfig, per_layer: Sequence[Encoding]) -> Description | None:
    """What the same encodings can be made from; None if they are objects that no text describes."""
    parts = distinct(per_layer)
    if any(getattr(part, "parameters_given", None) is None for part in parts):
        return None
    texts = ["+".join(_text(part) for part in encoding.parts()) for encoding in per_layer]
    lengths = {part.shape.length for part in parts}
    sizes = {part.shape.token_size for part in parts if part.overrides("embed")} or {config.token_std}
    if len(lengths) > 1 or len(sizes) > 1 or None in sizes:
        return None
    again = replace(config, encoding=tuple(texts), length=lengths.pop(), embedding_std=sizes.pop())
    if _sharing(make_encodings(again)) != _sharing(per_layer):  # other layers would share parameters
        return None
    texts = list(dict.fromkeys(texts)) if len(set(texts)) == 1 else texts
    return {"encoding": texts, "length": again.length, "token_size": again.token_std}


def _text(part: Encoding) -> str:
    return registry.canonical(Choice(part.name, tuple(part.parameters_given.items())))


def _sharing(per_layer: Sequence[Encoding]) -> list[list[int]]:
    """For every layer the numbers of its parts."""
    numbers = {id(part): number for number, part in enumerate(distinct(per_layer))}
    return [[numbers[id(part)] for part in encoding.parts()] for encoding in per_layer]


def match(part: Encoding, token_size: float) -> None:
    """Match what an encoding adds to token embeddings of this size. What is derived from its shape are plain
    attributes, taken from one that is made for it; tensors stay."""
    made = registry.make(part.name, replace(part.shape, token_size=token_size), **part.parameters_given)
    derived = {name: value for name, value in vars(made).items() if not name.startswith("_") and name != "training"}
    vars(part).update(derived)


def _config(
    base: Any, layers: Sequence[Any], encoding: tuple[str, ...], length: int | None, token_size: float | None
) -> ModelConfig:
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
    size = token_size or _token_size(base.get_input_embeddings())
    return ModelConfig(
        vocabulary=len(weight), encoding=encoding, dim=dim, heads=heads, layers=len(layers), length=length,
        head_dim=getattr(config, "head_dim", None) or dim // heads, causal=causal.pop(), embedding_std=size,
        kv_heads=shared if isinstance(shared, int) else heads,
    )  # fmt: skip


@torch.no_grad()
def _token_size(table: nn.Embedding) -> float | None:
    """The root mean square of token embeddings as the model reads them: Gemma's table multiplies them."""
    total = 0.0
    for rows in torch.arange(table.num_embeddings, device=table.weight.device).split(4096):
        total += float(table(rows).double().square().sum())
    return math.sqrt(total / table.weight.numel()) or None  # of zeros, nothing is known
