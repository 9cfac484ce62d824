"""Stored JSON documents: each names its schema, and has a sum by which it is known to be what was written."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from ordinate.core.errors import InputError, OtherVersionError
from ordinate.results.serialize import read, write
from ordinate.store.files import read_json, write_json

SCHEMA = 2  # raised when stored files or the rules of a fair comparison change: results of two schemas are not mixed

T = TypeVar("T")


def write_document(path: Path, content: Any, indent: int | None = None) -> None:
    """Replace a document as a whole. `content` is a dataclass or plain JSON data."""
    whole = {"schema": SCHEMA, **write(content)}
    write_json(path, {**whole, "sum": content_sum(whole)}, indent=indent)


def read_document(kind: type[T], path: Path, name: str) -> T:
    """What `write_document` wrote; an InputError names the file and what is wrong with it."""
    content = known_schema(read_json(path), path)
    try:
        found = read(kind, {key: value for key, value in content.items() if key not in ("schema", "sum")}, name)
        check_sum(content)
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): move it away") from error
    return found


def known_schema(content: Any, path: Path) -> dict[str, Any]:
    """The content of a document, unless another version of ordinate wrote it: its fields may mean something else."""
    found = content.get("schema") if isinstance(content, dict) else None
    if type(found) is not int or not 0 < found < 1000:
        raise InputError(f"{path} is damaged (it names no schema): move it away")
    if found != SCHEMA:
        age, fix = ("a newer", "update") if found > SCHEMA else ("an older", "use another store")
        raise OtherVersionError(
            f"{path} was written by {age} ordinate (schema {found}, this one reads {SCHEMA}): {fix}"
        )
    return dict(content)


def content_sum(content: dict[str, Any]) -> str:
    """The hash of a document, whatever the order of its keys."""
    return sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def check_sum(content: dict[str, Any]) -> None:
    """Raise a ValueError if a document is not what was written."""
    if "sum" not in content:
        raise ValueError("it has no sum")
    if content["sum"] != content_sum({name: value for name, value in content.items() if name != "sum"}):
        raise ValueError("its sum is another")
