"""Where one document goes: a file, standard output, or a pipe or device."""

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ordinate.core.display import escaped
from ordinate.core.errors import InputError
from ordinate.store.files import refuse_link, write_atomic


def put(path: Path, content: str | bytes) -> None:
    """Replace a regular file as a whole; write through a device, a pipe or a link, which must stay what it is."""
    if path.is_dir() or not path.parent.is_dir():
        why = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InputError(f"{path} cannot be written: {why}")
    if not path.is_symlink() and (path.is_file() or not path.exists()):
        replace_file(path, content)
        return
    with _writing(path), open(path, "wb", opener=_without_waiting) as file:
        file.write(_encoded(content))


def replace_file(path: Path, content: str | bytes) -> None:
    """Replace a file as a whole. A link is refused: what it leads to may be anyone's."""
    refuse_link(path)
    with _writing(path):
        write_atomic(path, _encoded(content))


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        unread = error.errno == errno.ENXIO
        raise InputError(f"{path} cannot be written: {'it has no reader' if unread else error.strerror}") from error


def _encoded(content: str | bytes) -> bytes:
    """A name from a command line may hold undecodable bytes."""
    return content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")


def make_folder(path: Path) -> None:
    """Create a folder; an InputError names a file in its way."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is not a folder: move it away")
    path.mkdir(exist_ok=True)


def _without_waiting(path: str, flags: int) -> int:
    """Opens a pipe only if it has a reader: opening one without a reader would block."""
    number = os.open(path, flags | os.O_NONBLOCK, 0o666)
    os.set_blocking(number, True)
    return number


def deliver(pieces: Iterable[str], output: Path | None) -> None:
    """To a file, whose name is printed, or to standard output (none, `-`, or whatever path leads there)."""
    if output is None or str(output) == "-" or _is_standard_output(output):
        sys.stdout.writelines(pieces)
        return
    put(output, "".join(pieces))
    if output.is_file():
        print(escaped(str(output)))


def _is_standard_output(path: Path) -> bool:
    """Opened a second time, it would be written from its start again."""
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # nothing there yet, or no file behind standard output
        return False
