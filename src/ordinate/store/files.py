"""Writing files so that a reader, or a power cut, never meets half of one."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from ordinate.core.errors import InputError

Record = dict[str, Any]


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of another as a whole: temporary name, sync, rename, sync of the folder."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")  # machines that share a store may share a pid
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file as a whole."""
    with replacing(path) as file:
        file.write(data)


def write_json(path: Path, content: Any, indent: int | None = 1) -> None:
    """One JSON document, replaced as a whole. NaN is not JSON: write None."""
    write_atomic(path, json.dumps(content, indent=indent, allow_nan=False).encode() + b"\n")


def read_json(path: Path) -> Any:
    """The content of a document; one that cannot be read is named."""
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is damaged (not JSON): move it away") from error


class Journal:
    """An append-only file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, records: list[Record]) -> int:
        """Add records in one write, and tell the size of the file then."""
        lines = "".join(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n" for record in records)
        with open(self.path, "ab") as file:
            file.write(lines.encode())
            return file.tell()

    def sync(self) -> int:
        """Make sure that all that was written stays, and tell how much it is."""
        with open(self.path, "ab") as file:
            os.fsync(file.fileno())
            return file.tell()

    def cut(self, size: int) -> None:
        """Forget what was written past this size: what followed the last checkpoint will be written again."""
        found = self.path.stat().st_size if self.path.exists() else 0
        if found < size:
            raise InputError(f"{self.path} is damaged (shorter than its checkpoint says): move the run's folder away")
        if found > size:
            os.truncate(self.path, size)

    def read(self) -> Iterator[Record]:
        """All whole lines; a torn last line is dropped."""
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    try:
                        yield json.loads(line)
                    except ValueError as error:
                        raise InputError(
                            f"{self.path} is damaged (a line is not JSON): move the run's folder away"
                        ) from error
