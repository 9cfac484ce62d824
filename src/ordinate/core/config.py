"""Configurations: frozen dataclasses, built strictly, hashed by content."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar, get_origin, get_type_hints

from ordinate.core.errors import InputError, nearest
from ordinate.core.parameters import LARGEST_INTEGER, Parameter

C = TypeVar("C")
DERIVED = -(LARGEST_INTEGER + 1)  # the default of a number that `__post_init__` computes from other settings


def build(cls: type[C], *layers: Mapping[str, Any]) -> C:
    """A configuration from its defaults and these layers, later ones on top. The error lists all problems."""
    hints = get_type_hints(cls)
    known = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            nested = key in known and dataclasses.is_dataclass(hints[key]) and isinstance(value, Mapping)
            merged[key] = {**merged.get(key, {}), **value} if nested else value
    problems, values = [], {}
    for key, value in merged.items():
        if key not in known:
            problems.append(f"unknown key {key}: {nearest(key, known)}")
            continue
        if value is None and known[key].default in (None, DERIVED):
            continue
        try:
            values[key] = _value(hints[key], key, value)
        except InputError as error:
            problems.append(str(error))
    required = [
        n for n, f in known.items() if f.default is f.default_factory is dataclasses.MISSING and n not in merged
    ]
    problems += [f"{name} is missing" for name in required]
    if problems:
        raise InputError("; ".join(problems))
    return cls(**values)


def settle(config: Any) -> list[str]:
    """Bring the fields of a frozen configuration to their declared types; returns what cannot be converted.

    Called from `__post_init__`, so that a configuration made by hand is as strict as one read from a file.
    """
    hints, problems = get_type_hints(type(config)), []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.default in (None, DERIVED) and value in (None, field.default):
            object.__setattr__(config, field.name, field.default)
            continue
        try:
            object.__setattr__(config, field.name, _value(hints[field.name], field.name, value))
        except InputError as error:
            problems.append(str(error))
    return problems


def _value(declared: Any, key: str, value: Any) -> Any:
    if dataclasses.is_dataclass(declared) and isinstance(declared, type):
        return value if isinstance(value, declared) else build(declared, value)
    if get_origin(declared) is dict:
        if not isinstance(value, Mapping):
            raise InputError(f"{key} must be a table of keys and values, got {value!r}")
        return dict(value)
    found = Parameter(key, declared, None, "", None, None).check("", value)
    for number in found if isinstance(found, tuple) else (found,):
        if isinstance(number, int) and abs(number) > LARGEST_INTEGER:
            raise InputError(f"{key} has more than 63 bits: no number here is so large")
    return found


def to_dict(config: Any) -> dict[str, Any]:
    """A configuration as plain data, ready for JSON."""
    return {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_dict(value)
    if isinstance(value, list | tuple):
        return type(value)(_plain(item) for item in value)
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def canonical(config: Any) -> str:
    """One text for one content, be it read or made: sorted keys, no spaces, no NaN."""
    return json.dumps(_plain(config), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(config: Any) -> str:
    """Twelve hexadecimal digits that name this content."""
    return hashlib.sha256(canonical(config).encode()).hexdigest()[:12]
