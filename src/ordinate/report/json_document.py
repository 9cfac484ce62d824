"""JSON documents that may have a million rows, written in pieces."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from itertools import islice
from typing import Any

from ordinate.core.extras import optional
from ordinate.report.table import Table

_SLOW = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_LINES = 4  # levels that have one entry per line
_FEW, _MANY = 20, 500  # entries that may share a line at the deepest of these levels; entries written at once


class Lines(Iterator[dict[str, Any]]):
    """Objects that are written one per line, at any depth: there may be a million of them."""

    def __init__(self, made: Iterable[dict[str, Any]]) -> None:
        self.made = iter(made)

    def __next__(self) -> dict[str, Any]:
        return next(self.made)


@dataclass(frozen=True)
class Entries:
    """An object whose entries are made one by one, because all of them may not fit in memory."""

    made: Iterable[tuple[str, Any]]

    def items(self) -> Iterable[tuple[str, Any]]:
        return self.made


def table_document(table: Table) -> dict[str, Any]:
    """A table as data, one object per row."""
    names = [column.name for column in table.columns]
    rows = Lines(dict(zip(names, row, strict=True)) for row in table.rows)
    return {"name": table.name, "title": table.title, "rows": rows}


def jsonable(value: Any) -> Any:
    """The same with null for infinities and NaN, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [jsonable(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return jsonable(unfolded(value))
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def unfolded(data: Any) -> dict[str, Any]:
    """The fields of a data class; faster than `dataclasses.fields` for a million of them."""
    return {name: getattr(data, name) for name in data.__dataclass_fields__}


def _known(value: Any) -> Any:
    """Convert what the encoder does not know."""
    if isinstance(value, tuple | Iterator):
        return list(value)
    return float(value) if isinstance(value, float) else str(value)


def as_json(content: Any) -> str:
    return "".join(json_pieces(content)) + "\n"


def json_pieces(content: Any, depth: int = 0) -> Iterator[str]:
    """One document in pieces, so that a gigabyte need not be held in memory: objects and lists down to a depth have one
    entry per line; what is deeper, or short, is one piece. Data classes and iterators are converted on the way."""
    if is_dataclass(content) and not isinstance(content, type | Entries):
        content = unfolded(content)
    if depth >= _LINES or _short(content, depth):
        yield _piece(content)
    elif isinstance(content, dict | Entries):
        yield from _entries(((f"{json.dumps(str(key))}: ", value) for key, value in content.items()), "{}", depth)
    elif isinstance(content, Lines):
        yield from _together(content, depth)
    else:
        yield from _entries((("", value) for value in content), "[]", depth)


def _short(content: Any, depth: int) -> bool:
    """Whether it is written on one line."""
    if isinstance(content, dict | list | tuple):
        return depth + 1 >= _LINES and len(content) <= _FEW
    return not isinstance(content, Entries | Iterator)


def _piece(content: Any) -> str:
    """One line of ASCII. The fallback for what orjson cannot write takes six times as long."""
    try:
        orjson = optional("orjson")
        line = orjson.dumps(content, _known, orjson.OPT_NON_STR_KEYS)
    except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
        return _SLOW.encode(jsonable(content))
    return line.decode() if line.isascii() else _SLOW.encode(jsonable(content))


def _entries(entries: Iterator[tuple[str, Any]], ends: str, depth: int) -> Iterator[str]:
    empty, margin = True, "\n" + " " * (depth + 1)
    for key, value in entries:
        yield f"{ends[0] if empty else ','}{margin}{key}"
        yield from json_pieces(value, depth + 1)
        empty = False
    yield ends if empty else "\n" + " " * depth + ends[1]


def _together(content: Lines, depth: int) -> Iterator[str]:
    """A list with one entry per line, many at a time: one call per entry would dominate the time."""
    empty, margin = True, "\n" + " " * (depth + 1)
    while chunk := list(islice(content, _MANY)):
        text = _piece(chunk)[1:-1]
        if text.count("},{") == len(chunk) - 1:
            text = text.replace("},{", f"}},{margin}{{")
        else:  # the pattern occurs within the objects too
            text = f",{margin}".join(map(_piece, chunk))
        yield f"{'[' if empty else ','}{margin}{text}"
        empty = False
    yield "[]" if empty else "\n" + " " * depth + "]"
