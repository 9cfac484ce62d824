"""The encoding of every layer, created from the names in a configuration."""

from collections.abc import Sequence

from ordinate import encodings as registry
from ordinate.core.combine import combine
from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.parsing import Choice
from ordinate.model.config import ModelConfig


def make_encodings(config: ModelConfig) -> list[Encoding]:
    """The encodings that a configuration names, one per layer. Layers share objects unless an encoding is per layer."""
    shared: dict[Choice, Encoding] = {}
    whole: dict[tuple[Choice, ...], Encoding] = {}
    result = []
    for choices in config.choices():
        if choices not in whole:
            parts = []
            for choice in choices:
                part = shared.get(choice) or _create(config, choice)
                if not part.per_layer:
                    shared[choice] = part
                parts.append(part)
            made = combine(*parts)
            if not any(part.per_layer for part in parts):
                whole[choices] = made
        result.append(whole.get(choices, made))
    return result


def _create(config: ModelConfig, choice: Choice) -> Encoding:
    return registry.create(
        choice.name, dim=config.dim, heads=config.heads, length=config.length, layers=config.layers,
        causal=config.causal, axes=config.axes, head_dim=config.head_dim, token_size=config.token_std,
        **dict(choice.parameters),
    )  # fmt: skip


def check_encodings(config: ModelConfig, per_layer: Sequence[Encoding]) -> None:
    """Refuse encodings created for another model, and those that do not fit its layers or its key heads."""
    if len(per_layer) != config.layers:
        raise InputError(f"{len(per_layer)} encodings for {config.layers} layers: give one per layer")
    for part in distinct(per_layer):
        for field in ("heads", "dim", "head_dim", "causal", "axes"):
            found, want = getattr(part.shape, field), getattr(config, field)
            if found != want:
                raise InputError(f"{part.name} was made for {field} {found}, but the model has {field} {want}")
        part.check_heads(config.kv_heads)
        layers = sum(any(part is inner for inner in whole.parts()) for whole in per_layer)
        if part.overrides("embed") and layers < config.layers:
            raise InputError(
                f"{part.name} changes token embeddings, once, before the first layer: name it for all layers, not some"
            )
        if part.per_layer and layers > 1:
            raise InputError(f"{part.name} has parameters of its own for each layer: give every layer its own object")


def distinct(encodings: Sequence[Encoding]) -> list[Encoding]:
    """All parts of these encodings, each once, in order."""
    return list({id(part): part for encoding in encodings for part in encoding.parts()}.values())
