"""The options that several commands share, and settings: a TOML file, then KEY=VALUE on top."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ordinate.core.errors import InputError

MOST_BYTES = 1_000_000  # of a settings file
RUNS = Path("runs")

StoreFolder = Annotated[Path, Option("--store", help="Folder of the runs.")]
SettingsFile = Annotated[Path | None, Option("--file", "-f", help="A TOML file of settings; KEY=VALUE overrides it.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON document to stdout.")]
Encodings = Annotated[str | None, Option("--encodings", "-e", help="Encodings, as in rope,alibi,'learned(rows=64)'.")]
StudyName = Annotated[str, Argument(help="A study that `ordinate list studies` names, or a TOML file.")]
Workers = Annotated[
    int | None, Option("--workers", help="Worker processes (default: one per core); 0: run in this process.")
]
ExecutorName = Annotated[
    str, Option("--executor", help="Where runs are done: local (this machine) or ray (a Ray cluster).")
]
ClusterAddress = Annotated[
    str | None, Option("--address", help="Ray cluster, as HOST:PORT or auto (default: one on this machine).")
]


def read_settings(file: Path | None, pairs: list[str] | None, taken: tuple[str, ...]) -> dict[str, Any]:
    """All settings as one flat dictionary; those in `taken` are arguments or options of the command."""
    from ordinate.core.parsing import parse_pairs

    given = _flat(read_toml(file)) | _flat(parse_pairs(pairs or []))
    for key in taken:
        if key in given:
            raise InputError(f"{key} was given twice: leave {key}={given[key]} out")
    return given


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """`model.dim` as `dim`, so that one set of settings can override another."""
    model = settings.pop("model", {})
    if not isinstance(model, dict):
        raise InputError(f"model must be a table of keys and values, got {model!r}")
    twice = sorted(settings.keys() & model.keys())
    if twice:
        raise InputError(f"{twice[0]} was given twice, as {twice[0]} and as model.{twice[0]}")
    return settings | model


def read_toml(file: Path | None) -> dict[str, Any]:
    """The tables of a settings file; nothing without one."""
    if file is None:
        return {}
    try:
        size = file.stat().st_size
        if not file.is_file() or size > MOST_BYTES:
            what = "is not a file" if not file.is_file() else f"has {size:,} bytes"
            raise InputError(f"{file} {what}: settings are read from a file of at most {MOST_BYTES:,} bytes")
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # ValueError: also an integer with too many digits
        if isinstance(error, InputError):
            raise
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{file} is not TOML: {why}") from error
