"""Settings and encodings as people write them: `lr=0.003`, `rope(base=500000)`, `segment+t5(buckets=16)`."""

import re
from dataclasses import dataclass
from typing import Any

from ordinate.core.errors import InputError

_PART = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def parse_value(text: str) -> Any:
    """A value as written on a command line: number, true, false, none, [list], or plain text."""
    text = text.strip()
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("[") and text.endswith("]"):
        inner = text[1:-1].strip()
        if "[" in inner:
            raise InputError(f"a list within a list cannot be read, got {text!r}: write [1,2,3]")
        return tuple(parse_value(part) for part in inner.split(",")) if inner else ()
    for kind in (int, float):
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            continue
    return text


def write_value(value: Any) -> str:
    """What `parse_value` reads back."""
    if isinstance(value, list | tuple):
        return f"[{','.join(write_value(item) for item in value)}]"
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def parse_pairs(pairs: list[str]) -> dict[str, Any]:
    """`["lr=0.003", "model.dim=64"]` as nested plain data."""
    result: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise InputError(f"expected key=value, got {pair!r}")
        table, dot, name = key.rpartition(".")
        if "." in table:
            raise InputError(f"{key} has too many dots: a setting is written dim or model.dim")
        at = result.setdefault(table, {}) if dot else result
        if not isinstance(at, dict):
            raise InputError(f"{key}: {table} was already given a value")
        if name in at:
            raise InputError(f"{key} was given twice")
        at[name] = parse_value(text)
    return result


@dataclass(frozen=True)
class Choice:
    """One name with its parameters."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()


def parse_choice(text: str) -> tuple[Choice, ...]:
    """The encodings named in a text, joined there by `+`."""
    found = []
    for part in split(text, "+"):
        match = _PART.fullmatch(part)
        if not match:
            raise InputError(f"cannot read {text!r}: write name, name(key=value, ...) or several joined by +")
        pairs = []
        for item in split(match[2] or "", ","):
            key, equals, value = item.partition("=")
            if item.strip() and not equals:
                raise InputError(f"cannot read {item.strip()!r} in {text!r}: write key=value")
            if item.strip():
                pairs.append((key.strip(), parse_value(value)))
        if len(dict(pairs)) < len(pairs):
            raise InputError(f"{text!r} gives a parameter twice")
        found.append(Choice(match[1], tuple(sorted(pairs))))
    if len(set(found)) < len(found):
        raise InputError(f"{text!r} names the same thing twice")
    return tuple(found)


def split(text: str, mark: str) -> list[str]:
    """Parts of a text between marks outside all brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
