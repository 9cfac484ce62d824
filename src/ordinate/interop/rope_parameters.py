"""Rotary parameters as transformers writes them (`config.rope_parameters`), and as ours."""

import copy
from typing import Any

from ordinate import encodings
from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.interop.installed import transformers

# Their name -> ours, for every type. `rope_theta` and `partial_rotary_factor` belong to all of them.
_STRETCH = {"factor": "factor", "original_max_position_embeddings": "original"}
_FIELDS: dict[str, dict[str, str]] = {
    "default": {},
    "linear": {"factor": "factor"},
    "dynamic": {"factor": "factor"},
    "yarn": _STRETCH
    | {name: name for name in ("beta_fast", "beta_slow", "truncate", "mscale", "mscale_all_dim", "attention_factor")},
    "llama3": _STRETCH | {"low_freq_factor": "low", "high_freq_factor": "high"},
    "longrope": _STRETCH | {"short_factor": "short", "long_factor": "long", "attention_factor": "attention_factor"},
    "proportional": {"factor": "factor"},
}
_KNOWN = {name for fields in _FIELDS.values() for name in fields}
_KNOWN |= {"rope_type", "type", "rope_theta", "partial_rotary_factor"}

# Models whose code rotates channel 2k with 2k + 1; their configuration does not say so.
INTERLEAVED = {
    "bailing_hybrid", "blt_text", "cohere", "cohere2", "cohere2_moe", "deepseek_v2", "ernie4_5", "ernie4_5_moe", "glm",
    "glm4", "helium", "llama4_text", "longcat_flash", "moonshine", "moonshine_streaming",
}  # fmt: skip


# Models whose layers of full attention do not rotate: those of the second line only beside layers with a window. Their
# code says so, their configuration does not.
_WINDOWS_ROTATE = {"cohere2", "cohere2_moe", "flint"}
_FULL_DO_NOT = {"exaone4", "exaone4_5", "exaone_moe", "kolibri1"}


def from_hf(config: Any, *, layer_type: str | None = None, layer: int | None = None, causal: bool = True) -> Encoding:
    """The rotary encoding of a transformers configuration; `layer_type` or `layer` (its number) if layers differ.

    The trained length is `max_position_embeddings`. A layer that has no rotation gives the encoding `none`.
    """
    if not isinstance(config, transformers().PreTrainedConfig):
        raise InputError(f"from_hf takes a configuration of transformers, got {type(config).__name__}")
    config = copy.deepcopy(config.get_text_config())
    if not getattr(config, "rope_parameters", None):
        raise InputError(f"{type(config).__name__} has no rope_parameters: its model has no rotary encoding to take")
    config.standardize_rope_params()
    rotates = _rotates(config, layer)
    if layer is not None and layer_type is None and _types(config.rope_parameters):
        layer_type = config.layer_types[layer]
    given, whole = _of_layers(config, layer_type), config.rope_parameters
    if layer_type is not None and getattr(config, "is_heterogeneous", False):
        config = config.per_layer_config[layer_type]
    needed = ("hidden_size", "num_attention_heads", "max_position_embeddings")
    dim, heads, length = (_needed(config, name) for name in needed)
    width = getattr(config, "head_dim", None) or dim // heads
    shape: dict[str, Any] = dict(dim=dim, heads=heads, length=length, head_dim=width, causal=causal)
    if given is None or not rotates:
        return encodings.create("none", **shape)
    parameters = _ours(given, length)
    if parameters.get("scaling") == "yarn" and not whole.get("truncate", True):
        parameters["truncate"] = False  # transformers looks beside the types of layers, not among their parameters
    interleaved = getattr(config, "rope_interleave", config.model_type in INTERLEAVED)
    return encodings.create("rope", **shape, pairs="interleaved" if interleaved else "halves", **parameters)


def _rotates(config: Any, layer: int | None) -> bool:
    """Whether a layer rotates; without one, whether all do, where they do not differ."""
    name, count = type(config).__name__, getattr(config, "num_hidden_layers", None) or 1
    if layer is not None and not 0 <= layer < count:
        raise InputError(f"{name} has layers 0 to {count - 1}, got layer={layer}")
    types = getattr(config, "layer_types", None) or ["full_attention"] * count
    each = [bool(one) for one in getattr(config, "no_rope_layers", None) or [True] * count]  # 1 where it rotates
    windowed = config.model_type in _FULL_DO_NOT and config.sliding_window is not None
    if windowed or config.model_type in _WINDOWS_ROTATE:
        each = [one == "sliding_attention" for one in types]
    if layer is not None:
        return each[layer]
    if len(set(each)) > 1:
        still = ", ".join(str(number) for number, one in enumerate(each) if not one)
        raise InputError(
            f"layers {still} of {name} do not rotate, the others do: choose one with layer=, as in"
            f" [from_hf(config, layer=i) for i in range({count})], which attach_hf takes"
        )
    return each[0]


def _types(parameters: dict[str, Any]) -> list[str]:
    """The types of layers that have rotary parameters of their own; empty if all share them."""
    types = [name for name, value in parameters.items() if isinstance(value, dict)]
    return types + [name for name, value in parameters.items() if value is None] if types else []


def _of_layers(config: Any, layer_type: str | None) -> dict[str, Any] | None:
    """The rotary parameters of the layers that are meant; None if they have no rotation."""
    parameters: dict[str, Any] = config.rope_parameters
    types = _types(parameters)
    listed = " and ".join(types)
    if layer_type is None and types:
        raise InputError(f"{type(config).__name__} has rotary parameters for {listed}: choose with layer_type=")
    if layer_type is None:
        return parameters
    if layer_type not in types:
        found = f"for {listed}" if types else "that all layers share"
        raise InputError(f"{type(config).__name__} has no layer_type {layer_type!r}, but rotary parameters {found}")
    return parameters[layer_type]  # type: ignore[no-any-return]


def _needed(config: Any, name: str) -> int:
    value = getattr(config, name, None)
    if not isinstance(value, int):
        raise InputError(f"{type(config).__name__} has no {name}, which a rotary encoding is made from")
    return value


def _ours(given: dict[str, Any], length: int) -> dict[str, Any]:
    kind = given["rope_type"]
    if kind not in _FIELDS:
        raise InputError(f"rope has no type {kind!r}: of those that transformers knows, it has {', '.join(_FIELDS)}")
    unknown = sorted(name for name, value in given.items() if name not in _KNOWN and value is not None)
    if unknown:
        raise InputError(f"rope cannot express {', '.join(unknown)}, which these rope_parameters of type {kind} have")
    settings = {ours: given[name] for name, ours in _FIELDS[kind].items() if given.get(name) is not None}
    stretch = max(1.0, length / settings.get("original", length))
    if kind in ("yarn", "longrope"):
        settings.setdefault("factor", stretch)
    elif kind not in ("default", "proportional") and "factor" not in settings:
        raise InputError(f"rope_parameters of type {kind} need a factor, found none")
    if kind == "yarn":
        # As transformers reads them: 0 means unset, and DeepSeek's ratio counts only as a pair that nothing overrules.
        settings = {name: value for name, value in settings.items() if value or name not in ("beta_fast", "beta_slow")}
        settings.pop("truncate", None)
        if "attention_factor" in settings or not (settings.get("mscale") and settings.get("mscale_all_dim")):
            settings = {name: value for name, value in settings.items() if not name.startswith("mscale")}
    if kind == "longrope":
        settings["factor"] = max(1.0, settings["factor"])
        if "attention_factor" in settings:
            settings.pop("factor")  # it has no other use
    for name in ("short", "long"):
        if name in settings:
            settings[name] = tuple(float(value) for value in settings[name])
    fraction = given.get("partial_rotary_factor")
    named = dict(base=given["rope_theta"]) | ({} if fraction is None else dict(fraction=fraction))
    return named | ({} if kind == "default" else dict(scaling=kind)) | settings


def to_hf(encoding: Encoding) -> dict[str, Any]:
    """The `rope_parameters` under which a transformers model rotates as this encoding does.

    A model that is to use them also needs `max_position_embeddings` and a head width as the encoding's own.
    """
    settings = getattr(encoding, "parameters_given", None)
    if encoding.name != "rope" or settings is None:
        why = "rope alone has rope_parameters" if settings is not None else "make it with encodings.create"
        raise InputError(f"transformers has no parameters for this {encoding.name}: {why}")
    settings = {name: item.default for name, item in encodings.registry.parameters("rope").items()} | settings
    kind, length = settings["scaling"], encoding.shape.length
    if settings["pairs"] != "halves":
        raise InputError(
            f"transformers has no parameter for pairs={settings['pairs']}, a model's code decides that: make rope with"
            " pairs=halves, and reorder the channels of queries and keys"
        )
    if kind == "dynamic" and settings["original"] not in (None, length):
        raise InputError(
            f"transformers stretches dynamic rope from max_position_embeddings on, but this one has original"
            f" {settings['original']} and length {length}: make it with length={settings['original']}"
        )
    if kind == "ntk":  # a larger base is all there is to it
        width = int(encoding.shape.head_dim * settings["fraction"])
        settings |= dict(base=settings["base"] * settings["factor"] ** (width / (width - 2)))
    kind = "default" if kind in ("none", "ntk") else kind
    given: dict[str, Any] = {"rope_type": kind, "rope_theta": settings["base"]}
    if settings["fraction"] != 1.0:
        given["partial_rotary_factor"] = settings["fraction"]
    settings["original"] = settings["original"] or length
    for name, ours in _FIELDS[kind].items():
        value = settings[ours]
        if value is not None and (kind, name, value) != ("proportional", "factor", 1.0):
            given[name] = list(value) if isinstance(value, tuple) else value
    return given
