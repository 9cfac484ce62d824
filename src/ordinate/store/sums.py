"""Hashes in a result, by which it and the files beside it are known to be what was written."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from ordinate.core.errors import InputError
from ordinate.store.files import regular

SUMMED = ("metrics.jsonl", "model.safetensors", "attention.safetensors")  # of a run that is done; nothing changes them
BLOCK = 2**20


def content_sum(content: dict[str, Any]) -> str:
    """Of a document, however its keys are ordered."""
    return sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def check_sum(content: dict[str, Any]) -> None:
    """Fails if a document is another than was written; older ones have no sum."""
    rest = {name: value for name, value in content.items() if name != "sum"}
    if content.get("sum") not in (None, content_sum(rest)):
        raise ValueError("its sum is another")


def file_sums(folder: Path) -> dict[str, str]:
    """Of those files that a run has."""
    return {name: _file_sum(folder / name) for name in SUMMED if (folder / name).exists()}


def check_files(folder: Path, told: dict[str, str]) -> None:
    """Fails at the first file that is not what the result tells."""
    for name, told_sum in told.items():
        try:
            found = _file_sum(folder / name)
        except OSError as error:
            raise InputError(f"{folder / name} cannot be read: {error.strerror}") from error
        if found != told_sum:
            raise InputError(f"{folder / name} is damaged (not what its result was written with): move the folder away")


def _file_sum(path: Path) -> str:
    found = sha256()
    with open(path, "rb", opener=regular) as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.hexdigest()
