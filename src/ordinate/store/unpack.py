"""Unpack a store from an archive, which is not trusted."""

import fcntl
import glob
import json
import os
import shutil
import stat
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ordinate.core.errors import InputError
from ordinate.store.files import LARGEST, regular
from ordinate.store.pack import BLOCK, MANIFEST, PLACE, SCHEMA, ArchiveMember, fault

MOST_FILES = 200_000
MOST_BYTES = 50 * 2**30
LINE = 200  # bytes of a line of the manifest beside the name: a size, a hash and punctuation
MARKS = (b"[", b"{", b",", b":")  # which begin or separate values: few of them cannot make many objects
LOCK = "lock"
# What reading a damaged zip file can end in.
BROKEN = (BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, IndexError, OverflowError)


def unpack(file: str | Path, folder: str | Path) -> None:
    """Make a folder of what `pack` wrote. It appears whole and checked, or not at all; nothing is written elsewhere."""
    file, folder = Path(file), Path(folder)
    if os.path.lexists(folder):
        raise InputError(f"{folder} exists already: unpack into a new folder")
    with _opened(file) as archive:
        files = _checked(archive, file)
        try:
            with _beside(folder) as temporary:
                now = time.time_ns()
                for age, packed in enumerate(reversed(files), start=1):
                    _extract(archive, file, packed, temporary / packed.name)
                    written = now - age * 1_000_000
                    os.utime(temporary / packed.name, ns=(written, written))
                os.sync()  # a power cut must not leave a whole folder of empty files
                os.rename(temporary, folder)
        except OSError as error:
            problem = "it exists already" if os.path.lexists(folder) else error.strerror
            raise InputError(f"{file} cannot be unpacked into {folder}: {problem}") from error


@contextmanager
def _opened(file: Path) -> Iterator[ZipFile]:
    if file.is_fifo() or file.is_char_device():  # it would be waited for, or has no end
        raise InputError(f"{file} is not a file: give one that was packed")
    try:
        archive = ZipFile(file)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except BROKEN as error:
        raise InputError(f"{file} is not a zip file, or is damaged: get a new copy") from error
    with archive:
        yield archive


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A new folder, inside one that only this user can read and that is removed in the end.

    Folders of processes that were killed are removed too: no process holds their lock.
    """
    for left in folder.parent.glob(f".{glob.escape(folder.name)}.unpacking.*"):
        with suppress(OSError, InputError), open(left / LOCK, "r+b", opener=regular) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.unpacking.", dir=folder.parent))
    try:
        with open(temporary / "fresh", "xb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.replace(temporary / "fresh", temporary / LOCK)  # which is never there without being locked
            (temporary / "new").mkdir()
            yield temporary / "new"
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _checked(archive: ZipFile, file: Path) -> list[ArchiveMember]:
    """The manifest's files, after every check that needs no unpacking."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise InputError(f"{file} is refused: it holds {len(entries):,} files, and {MOST_FILES:,} are the most")
    names: set[str] = set()
    for entry in entries:
        if problem := fault(entry.orig_filename) or _odd(entry):
            raise InputError(f"{file} is refused: its entry {entry.orig_filename!r} {problem}")
        if entry.filename in names:
            raise InputError(f"{file} is refused: it holds {entry.filename!r} twice")
        names.add(entry.filename)
    files = _manifest(archive, file, names)
    listed = {packed.name for packed in files}
    if len(listed) < len(files):
        raise InputError(f"{file} is refused: its manifest names a file twice")
    if extra := sorted(names - listed - {MANIFEST}):
        raise InputError(f"{file} is refused: its manifest does not name {extra[0]!r}")
    if missing := sorted(listed - names):
        raise InputError(f"{file} is refused: it lacks {missing[0]!r}, which its manifest names")
    if (total := sum(packed.size for packed in files)) > MOST_BYTES:
        raise InputError(f"{file} is refused: it would unpack to {total:,} bytes, and {MOST_BYTES:,} are the most")
    if not files:
        raise InputError(f"{file} is refused: it holds no file of a store")
    if large := [packed for packed in files if packed.name.endswith(".json") and packed.size > LARGEST]:
        problem = f"{large[0].name!r} has {large[0].size:,} bytes, and a document has at most {LARGEST:,}"
        raise InputError(f"{file} is refused: {problem}")
    if odd := [name for name in sorted(listed) if not PLACE.fullmatch(name)]:
        raise InputError(f"{file} is refused: {odd[0]!r} has no place in a store")
    return files


def _odd(entry: ZipInfo) -> str:
    """What makes an entry something else than a plain file; empty if nothing does."""
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return "is a link or another special file"
    if entry.flag_bits & 1:
        return "is encrypted"
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return "is compressed in an unusual way"
    return ""


def _manifest(archive: ZipFile, file: Path, names: set[str]) -> list[ArchiveMember]:
    if MANIFEST not in names:
        raise InputError(f"{file} is not a packed store: it has no {MANIFEST}")
    most = sum(len(json.dumps(name)) + LINE for name in names)
    text = b"".join(_blocks(archive, file, ArchiveMember(MANIFEST, most, "")))
    if sum(map(text.count, MARKS)) > sum(sum(map(name.encode().count, MARKS)) + 2 * len(MARKS) for name in names):
        raise InputError(f"{file} is refused: its {MANIFEST} has more entries than the archive has files")
    try:
        content = json.loads(text)
        schema, files = content["schema"], content["files"]
        if type(schema) is not int or schema < 1:
            raise ValueError("no schema")
        found = [_listed(*line) for line in files] if schema <= SCHEMA else []
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{file} is refused: its {MANIFEST} is damaged") from error
    if schema > SCHEMA:
        raise InputError(f"{file} was packed by a newer ordinate (schema {schema}, this one reads {SCHEMA}): update")
    return found


def _listed(name: Any, size: Any, digest: Any) -> ArchiveMember:
    if not (isinstance(name, str) and type(size) is int and size >= 0 and isinstance(digest, str)):
        raise TypeError(f"{name!r}, {size!r}, {digest!r} in {MANIFEST}")
    return ArchiveMember(name, size, digest)


def _extract(archive: ZipFile, file: Path, packed: ArchiveMember, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = sha256(), 0
    with open(path, "xb") as target:
        for block in _blocks(archive, file, packed):
            digest.update(block)
            size += target.write(block)
    if size < packed.size:
        raise InputError(f"{file} is refused: {packed.name!r} is shorter than its manifest says")
    if digest.hexdigest() != packed.sha256:
        raise InputError(f"{file} is refused: {packed.name!r} has another hash than its manifest says")


def _blocks(archive: ZipFile, file: Path, packed: ArchiveMember) -> Iterator[bytes]:
    """The bytes of an entry, counted as they come: the sizes that an archive states may be false."""
    size = 0
    try:
        with archive.open(packed.name) as source:
            while size <= packed.size and (block := source.read(BLOCK)):
                size += len(block)
                if size <= packed.size:
                    yield block
    except (OSError, *BROKEN) as error:
        raise InputError(f"{file} is damaged: {packed.name!r} cannot be read from it") from error
    if size > packed.size:
        raise InputError(f"{file} is refused: {packed.name!r} is longer than it may be ({packed.size:,} bytes)")
