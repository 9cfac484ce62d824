"""Positional encodings by name. Each lives in one file of this folder, or in a plug-in's entry point."""

import inspect
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import torch

from ordinate.core.encoding import Encoding, Shape
from ordinate.core.errors import AxesError, InputError
from ordinate.core.memory import require_memory
from ordinate.core.parsing import parse_choice
from ordinate.core.registry import Registry
from ordinate.core.seeds import generator

registry: Registry[Encoding] = Registry("encoding", Encoding, sys.modules[__name__], "ordinate.encodings")


def names() -> list[str]:
    """The names of all encodings."""
    return registry.names()


def usual(axes: int = 1) -> list[str]:
    """Those that a comparison takes when none are named: the usual ones that read so many position axes."""
    return [name for name in names() if registry.get(name).usual and axes in example(name).axes]


def create(
    name: str,
    *,
    dim: int,
    heads: int,
    length: int,
    layers: int = 1,
    causal: bool = True,
    axes: int = 1,
    head_dim: int = 0,
    token_size: float | None = None,
    seed: int = 0,
    **parameters: Any,
) -> Encoding:
    """An encoding, ready to use. `length` is the trained length; `ordinate show NAME` lists the parameters.

    `token_size` is the root mean square of the token embeddings that it will be added to: what an encoding adds is
    matched to it. Without it, the values are those of the encoding's definition.
    """
    _check_name(name)
    shape = Shape(dim, heads, length, layers, causal, axes, head_dim, token_size)
    checked = registry.checked(name, parameters)
    with torch.device("meta"):  # without storage, to see how much it takes
        empty = registry.make(name, shape, **checked)
    tensors = (*empty.parameters(), *empty.buffers())
    require_memory(sum(t.numel() * t.element_size() for t in tensors), f"{empty.name} with these parameters")
    encoding = registry.make(name, shape, **checked)
    if not any(p.is_meta for p in encoding.parameters()):
        encoding.reset(generator(seed, "init", "encoding", encoding.name, 0))
    encoding.parameters_given = checked
    return encoding


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise InputError(f"an encoding is named by a text, such as 'rope', got {name!r}")
    if ("+" in name or "(" in name) and name not in names():
        raise InputError(
            f"create makes one encoding by its name, with parameters as keywords, got {name!r}: join several by"
            " combine, or give this text to a model as its encoding"
        )


def canonical(text: str) -> str:
    """One text for one meaning: `rope( base = 10000 )` is `rope`."""
    return "+".join(registry.canonical(choice) for choice in parse_choice(text))


def example(name: str, **parameters: Any) -> Encoding:
    """A small instance, to look at: on text if the encoding reads text, otherwise on a grid or in a volume."""
    for axes in (1, 2):
        with suppress(AxesError):
            return create(name, dim=64, heads=4, length=64, axes=axes, **parameters)
    return create(name, dim=64, heads=4, length=64, axes=3, **parameters)


def describe(name: str, **parameters: Any) -> dict[str, Any]:
    """All that an encoding's file says about it, as plain data; traits are those that it has with these parameters."""
    cls, instance = registry.get(name), example(name, **parameters)
    words = " ".join(inspect.cleandoc(cls.__doc__ or "").split())
    return {
        "name": name,
        "family": cls.family,
        "words": words,
        "formula": cls.formula,
        "paper": None if cls.paper is None else asdict(cls.paper) | {"bibtex": cls.paper.bibtex()},
        "extrapolation": instance.extrapolation,
        "shift_invariant": instance.shift_invariant,
        "causal_only": instance.causal_only,
        "per_layer": instance.per_layer,
        "axes": list(instance.axes),
        "trained": sum(p.numel() for p in instance.parameters()) > 0,
        "parameters": [parameter.as_dict() for parameter in registry.parameters(name).values()],
    }
