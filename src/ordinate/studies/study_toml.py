"""What study files are read with: TOML tables and texts, each problem one sentence."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ordinate.core.display import printable
from ordinate.core.errors import InputError, nearest

MOST_BYTES = 200_000


def read_study(path: Path) -> dict[str, Any]:
    """The tables of a study file."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} is no file of at most {MOST_BYTES:,} bytes: name a study file")
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not TOML: {error}") from error


def names_below(folder: Path) -> list[str]:
    """The studies of a folder."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def questions_below(folder: Path) -> dict[str, str]:
    """The question of each, without planning any run."""
    return {name: str(read_study(folder / f"{name}.toml").get("question", "")) for name in names_below(folder)}


def known_keys(table: Mapping[str, Any], keys: tuple[str, ...], what: str) -> None:
    """Refuse keys that a table does not have."""
    for key in table:
        if key not in keys:
            raise InputError(f"{what} has no key {key}: {nearest(key, keys)}")


def tables_in(value: Any, key: str) -> list[dict[str, Any]]:
    """A list of tables."""
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise InputError(f"{key} must be a list of tables: write [[{key}]]")
    return value


def table_in(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A table within a table; an empty one if it is not there."""
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise InputError(f"{key} must be a table of keys and values, got {value!r}")
    return dict(value)


def text_in(table: Mapping[str, Any], key: str) -> str:
    """A text on one line; empty if it is not there."""
    value = table.get(key, "")
    if not isinstance(value, str) or not printable(" ".join(value.split())):
        raise InputError(f"{key} must be a text of visible characters, got {value!r}")
    return " ".join(value.split())


def needed_text(table: Mapping[str, Any], key: str, what: str) -> str:
    """A text that must be there."""
    if not (text := text_in(table, key)):
        raise InputError(f"{what} has no {key}")
    return text


def names_in(value: Any, name: str, key: str) -> tuple[str, ...]:
    """A text or a list of texts."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"{key} of {name!r} must be a text or a list of texts, got {value!r}")
    if not texts and key != "measures":
        raise InputError(f"{key} of {name!r} is empty: name at least one")
    return tuple(texts)


def check_unique(texts: list[str]) -> None:
    """Refuse two parts of one name."""
    if twice := {text for text in texts if texts.count(text) > 1}:
        raise InputError(f"two parts are called {min(twice)!r}")
