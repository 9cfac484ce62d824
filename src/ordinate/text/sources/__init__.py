"""Sources of text by their names on the command line."""

from pathlib import Path

from ordinate.core.errors import InputError, nearest
from ordinate.text.sources.fineweb import CONFIGURATIONS, FineWeb
from ordinate.text.sources.jsonl import Jsonl
from ordinate.text.sources.parquet import Parquet
from ordinate.text.sources.source import Source
from ordinate.text.sources.text_files import StandardLibrary, TextFiles

_AT_HAND: dict[str, type[TextFiles | Jsonl | Parquet]] = {"text": TextFiles, "jsonl": Jsonl, "parquet": Parquet}


def find_source(text: str, revision: str = "") -> Source:
    """`stdlib`, `fineweb-edu[:CONFIGURATION]`, `text:DIR`, `jsonl:FILE` or `parquet:DIR`."""
    kind, colon, rest = text.partition(":")
    if kind == "fineweb-edu":
        configuration = rest if colon else FineWeb.configuration
        if configuration not in CONFIGURATIONS:
            hint = nearest(configuration, CONFIGURATIONS)
            raise InputError(f"fineweb-edu has no configuration {configuration!r} here: {hint}")
        return FineWeb(configuration, revision or FineWeb.revision)
    if revision:
        raise InputError(f"--revision is for fineweb-edu, and {text!r} has none: leave it out")
    if text == "stdlib":
        return StandardLibrary()
    if kind in _AT_HAND:
        if not rest:
            raise InputError(f"{text!r} names no file or folder: write {kind}:PATH")
        return _AT_HAND[kind](Path(rest).expanduser())
    known = ["stdlib", "fineweb-edu", *(f"{name}:PATH" for name in _AT_HAND)]
    raise InputError(f"unknown source {text!r}: {nearest(text, known)}")


__all__ = ["Source", "find_source"]
