"""A store, or a part of it, as one zip file to hand on; `unpack` makes a folder of it again."""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ordinate.core.errors import InputError
from ordinate.store.run import AT_WORK, Run
from ordinate.store.store import Store, is_id

SCHEMA = 1  # of the manifest
MANIFEST = "manifest.json"  # the files, oldest first: stores are read by age, which a zip file with fixed dates loses
DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold: the same files give the same bytes on any day
BLOCK = 2**20


SHARED = ("studies",)  # beside the runs; what is computed once for many is computed again elsewhere
HERE = ("claim", "heartbeat", "driver")  # who is at work, which nobody is elsewhere


# Where files may be: in runs and in studies; before, scores that need no encoding were packed too.
_FILE, _ID = "(?!(claim|heartbeat|driver)$)[^./][^/]*", "[0-9a-f]{12}"
PLACE = re.compile(f"{_ID}/{_FILE}|studies/{_ID}/([^./][^/]*/){{,2}}{_FILE}|baselines/{_ID}.json")


class Packed(NamedTuple):
    """One file, as the manifest tells of it."""

    name: str
    size: int
    sha256: str


def pack(
    store: Store, file: str | Path, *, studies: Iterable[str] | None = None, runs: Iterable[str] | None = None
) -> list[str]:
    """Write a store as one file: all of it, or the studies and runs of these ids. The same files give the same bytes.

    A study is reported from its runs, so name those with it. Interrupted runs can be gone on with elsewhere. Tells what
    was left out: runs that somebody is at work on, and files whose names an archive cannot have.
    """
    file, everything = Path(file), studies is None and runs is None
    folders = _all(store) if everything else _named(store, studies or (), runs or ())
    kept, left, found = [], [], {}
    for folder in folders:
        if problem := _unfit(folder):
            left.append(f"run {folder.name}: {problem}")
        else:
            kept.append(folder)
    for path in (path for folder in kept for path in _files(folder)):
        name = path.relative_to(store.folder).as_posix()
        if problem := fault(name):
            left.append(f"{path}: its name {problem}")
        elif not PLACE.fullmatch(name):
            left.append(f"{path}: it has no place in a store")
        else:
            found[name] = path
    if not found:
        raise InputError(f"nothing to pack in {store.folder}: it has no runs and no studies that rest")
    temporary = file.with_name(f".{file.name}.{uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as target:
            _write(found, ZipFile(target, "w"))
            target.flush()
            os.fsync(target.fileno())
        os.replace(temporary, file)
    except OSError as error:
        raise InputError(f"{file} cannot be packed: {error.strerror}, {error.filename}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return left


def fault(name: str) -> str:
    """What is wrong with a name that is to become a path below a folder; empty if nothing is."""
    parts = name.split("/")
    if name.startswith("/"):
        return "is an absolute path"
    if ".." in parts:
        return "leads out of the folder"
    if "\\" in name or re.match("[A-Za-z]:", name):
        return "has a backslash or a drive letter"
    if name.endswith("/"):
        return "is a folder, not a file"
    if "" in parts or "." in parts or not name.isprintable() or any(len(part.encode()) > 255 for part in parts):
        return "is no name for a file"
    return ""


def _unfit(folder: Path) -> str:
    """Why a run cannot be packed now; empty if it can."""
    if Run(folder).claim.holder:
        return "somebody is at work on it"
    unread = (path for path in _files(folder) if is_id(folder.name) and not os.access(path, os.R_OK))
    return next((f"{path} may not be read" for path in unread), "")


def _all(store: Store) -> list[Path]:
    if not store.folder.is_dir():
        return []
    return [path for path in store.folder.iterdir() if path.is_dir() and (is_id(path.name) or path.name in SHARED)]


def _named(store: Store, studies: Iterable[str], runs: Iterable[str]) -> list[Path]:
    named = {run: store.run(run).folder for run in runs}  # which refuses what is no id
    named |= {study: store.folder / "studies" / store.run(study).id for study in studies}
    for name, folder in named.items():
        if not folder.is_dir():
            raise InputError(f"{name} cannot be packed: it is not in {store.folder}")
    return list(named.values())


def _files(folder: Path) -> Iterator[Path]:
    """Those that belong to the store itself: what a link leads to does not, nor what a finished run left over."""
    unwanted = AT_WORK if Run(folder).done else HERE
    for path in folder.rglob("*"):
        wanted = not path.name.startswith(".") and path.name not in unwanted
        if wanted and path.is_file() and not path.is_symlink() and not folder.is_symlink():
            yield path


def _write(found: dict[str, Path], archive: ZipFile) -> None:
    by_age = sorted(found, key=lambda name: (found[name].stat().st_mtime_ns, name))
    with archive:
        packed = {name: _add(archive, name, found[name]) for name in sorted(found)}
        manifest = {"schema": SCHEMA, "files": [packed[name] for name in by_age]}
        archive.writestr(_entry(MANIFEST), json.dumps(manifest, separators=(",", ":")) + "\n")


def _add(archive: ZipFile, name: str, path: Path) -> Packed:
    """The file goes in block by block; its size and hash are those of the bytes that went in."""
    digest, size = sha256(), 0
    large = path.stat().st_size > 2**30
    with open(path, "rb") as source, archive.open(_entry(name), "w", force_zip64=large) as target:
        while block := source.read(BLOCK):
            target.write(block)
            digest.update(block)
            size += len(block)
    return Packed(name, size, digest.hexdigest())


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, DATE)
    entry.create_system, entry.compress_type = 3, ZIP_DEFLATED  # Unix, wherever it was written
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry
