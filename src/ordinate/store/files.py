"""Writing files so that a reader, or a power cut, never meets half of one."""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from ordinate.core.errors import InputError

Record = dict[str, Any]
LONGEST_LINE = 2**20  # bytes of one record
LARGEST = 2**24  # bytes of a document that is read whole: those of a store have at most some hundred thousand


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write that replaces another as a whole: temporary name, sync, rename, sync of the folder."""
    if path.is_dir():
        raise InputError(f"{path} is a folder, where a file belongs: move it away")
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")  # machines that share a store may share a pid
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None  # the name that people know
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_atomic(path: Path, data: bytes, mode: int = 0o666) -> None:
    with replacing(path, mode) as file:
        file.write(data)


def write_json(path: Path, content: Any, indent: int | None = 1) -> None:
    """One JSON document, replaced as a whole. NaN is not JSON: write None."""
    write_atomic(path, json.dumps(content, indent=indent, allow_nan=False).encode() + b"\n")


def read_json(path: Path) -> Any:
    """The content of a document; one that cannot be read is named."""
    try:
        return parse_json(read_bytes(path, LARGEST))
    except InputError:  # no file
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged (not JSON): move it away") from error


def read_bytes(path: Path, most: int = 2**30) -> bytes:
    """All of a file, if it has at most so many bytes; a pipe is not waited for."""
    with open(path, "rb", opener=regular) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise InputError(f"{path} is damaged ({size:,} bytes, and at most {most:,} belong there): move it away")
        return file.read()


def parse_json(text: bytes) -> Any:
    """What `write_json` wrote; anything else is a ValueError, as are lists in lists in lists without end."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def no_link(path: str, flags: int) -> int:
    """Open a file that is added to, but not through a link: what that leads to is not ours to change."""
    try:
        number = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(f"{path} is a link, which is not followed: move it away") from error
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise InputError(f"{path} is not a file: move it away") from error
        raise
    return _if(number, path, stat.S_ISREG(os.fstat(number).st_mode))


def regular(path: str, flags: int) -> int:
    """Open a file to read, and nothing else: a pipe would be waited for, and a device may have no end."""
    number = os.open(path, flags | os.O_NONBLOCK)
    kind = os.fstat(number).st_mode
    # Reading a folder fails later, with a better message.
    return _if(number, path, stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def _if(number: int, path: str, wanted: bool) -> int:
    if not wanted:
        os.close(number)
        raise InputError(f"{path} is not a file: move it away")
    return number


def refuse_link(folder: Path) -> None:
    """Refuse a link: its target does not belong to the store."""
    if folder.is_symlink():
        raise InputError(f"{folder} is a link, which is not followed: move it away")


def folder_fault(path: Path) -> str:
    """What is wrong with `path` as a folder; empty if it can be read or does not exist."""
    if os.path.islink(path):
        return "is a link, which is not followed: move it away"
    if os.path.lexists(path) and not os.path.isdir(path):
        return "is not a folder: move it away"
    if os.path.isdir(path) and not os.access(path, os.R_OK | os.X_OK):
        return f"cannot be read: {os.strerror(errno.EACCES)}"
    return ""


class Journal:
    """An append-only file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, records: list[Record]) -> int:
        """Add records in one write. Returns the new size of the file."""
        lines = "".join(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n" for record in records)
        with open(self.path, "ab", opener=no_link) as file:
            file.write(lines.encode())
            return file.tell()

    def sync(self) -> int:
        """Flush to disk. Returns the size of the file."""
        with open(self.path, "ab", opener=no_link) as file:
            os.fsync(file.fileno())
            return file.tell()

    def cut(self, size: int) -> None:
        """Forget what was written past this size: what followed the last checkpoint will be written again."""
        self.check(size)
        if self.path.exists() and self.path.stat().st_size > size:
            with open(self.path, "r+b", opener=no_link) as file:
                file.truncate(size)

    def check(self, size: int) -> None:
        """Refuse one that cannot be cut to this size: there is less of it, or a line would be cut."""
        if not size:
            return
        with self._opened() as file:
            file.seek(size - 1)
            last = file.read(1)
        if last != b"\n":
            raise self._damaged("its checkpoint ends in a line" if last else "shorter than its checkpoint says")

    def sum(self, size: int) -> str:
        """The hash of so many bytes of it."""
        found = sha256()
        with self._opened() as file:
            while block := file.read(min(size, LARGEST)):
                found.update(block)
                size -= len(block)
        return found.hexdigest()

    def read(self, size: int | None = None) -> Iterator[Record]:
        """All whole lines, up to a size if one is given; a torn last line is dropped."""
        with self._opened() as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
                if size is not None and file.tell() > size:
                    break
                if line.endswith(b"\n"):
                    yield self._record(number, line)
                elif len(line) == LONGEST_LINE:
                    raise self._damaged(f"line {number} has no end")

    def _opened(self) -> BufferedIOBase:
        """To read; one that is not there is as good as empty."""
        try:
            return open(self.path, "rb", opener=regular)
        except FileNotFoundError:
            return BytesIO()
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}") from error

    def _record(self, number: int, line: bytes) -> Record:
        try:
            record = parse_json(line)
        except ValueError as error:
            raise self._damaged(f"line {number} is not JSON") from error
        if not isinstance(record, dict):
            raise self._damaged(f"line {number} is not a record")
        return record

    def _damaged(self, problem: str) -> InputError:
        return InputError(f"{self.path} is damaged ({problem}): move the run's folder away")
