"""Hashes of the files of a finished run, by which they are known to be what was written."""

from hashlib import file_digest
from pathlib import Path
from typing import get_args

from ordinate.core.errors import InputError
from ordinate.results.run_result import HashedFile
from ordinate.store.files import regular

SUMMED: tuple[HashedFile, ...] = get_args(HashedFile)


def file_sums(folder: Path) -> dict[HashedFile, str]:
    """Of those files that a run has."""
    return {name: _file_sum(folder / name) for name in SUMMED if (folder / name).exists()}


def check_files(folder: Path, hashes: dict[HashedFile, str]) -> None:
    """Raise an InputError at the first file that is not what the result was written with."""
    for name, written in hashes.items():
        try:
            found = _file_sum(folder / name)
        except OSError as error:
            raise InputError(f"{folder / name} cannot be read: {error.strerror}") from error
        if found != written:
            raise InputError(f"{folder / name} is damaged (not what its result was written with): move the folder away")


def _file_sum(path: Path) -> str:
    with open(path, "rb", opener=regular) as file:
        return file_digest(file, "sha256").hexdigest()
