"""Encodings as written by people: `rope`, `rope(base=500000)`, `segment+t5(buckets=16)`."""

import re
from dataclasses import dataclass
from typing import Any

from ordinate.core.config import parse_value
from ordinate.core.errors import InputError

_PART = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)


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
