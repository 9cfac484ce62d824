"""Settings as commands take them: a TOML file, and KEY=VALUE on top."""

import tomllib
from pathlib import Path
from typing import Any

from ordinate.core.errors import InputError

LONGEST = 1_000_000  # bytes of a file of settings


def read_settings(file: Path | None, pairs: list[str] | None, taken: tuple[str, ...]) -> dict[str, Any]:
    """All settings in one layer; those in `taken` have another place on the command line."""
    from ordinate.core.config import parse_pairs

    given = _flat(_read(file)) | _flat(parse_pairs(pairs or []))
    for key in taken:
        if key in given:
            raise InputError(f"{key} was given twice: leave {key}={given[key]} out")
    return given


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """`model.dim` as `dim`, so that one layer of settings can go on top of another."""
    model = settings.pop("model", {})
    if not isinstance(model, dict):
        raise InputError(f"model must be a table of keys and values, got {model!r}")
    twice = sorted(settings.keys() & model.keys())
    if twice:
        raise InputError(f"{twice[0]} was given twice, as {twice[0]} and as model.{twice[0]}")
    return settings | model


def _read(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        size = file.stat().st_size
        if not file.is_file() or size > LONGEST:
            what = "is no file" if not file.is_file() else f"has {size:,} bytes"
            raise InputError(f"{file} {what}: settings are read from a file of at most {LONGEST:,} bytes")
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # a number of more digits than Python reads has a class of its own
        if isinstance(error, InputError):
            raise
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{file} is not TOML: {why}") from error
