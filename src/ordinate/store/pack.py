"""A store, or a part of it, as one zip file to hand on; `unpack` makes a folder of it again."""

import json
import os
import re
import stat
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ordinate.core.errors import InputError
from ordinate.store.files import LARGEST, folder_fault
from ordinate.store.run import AT_WORK, Run
from ordinate.store.store import Store, inside
from ordinate.store.sums import SUMMED

SCHEMA = 1  # of the manifest
MANIFEST = "manifest.json"  # the files, oldest first: stores are read by age, which a zip file with fixed dates loses
DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold: the same files give the same bytes on any day
BLOCK = 2**20
LINK = "a link, which is not followed"
HERE = ("claim", "heartbeat", "driver")  # name processes of this machine
NEEDED = ("config.json", "result.json", "checkpoint.pt", *SUMMED, "study.json")  # if a run or a study has it at all
KINDS = (".json", ".jsonl", ".pt", ".safetensors", ".html", ".txt", ".csv")  # of files: no folder is named like this
# Where files may be: in runs and in studies; before, scores that need no encoding were packed too.
_FILE, _ID = "(?!(claim|heartbeat|driver)$)[^./][^/]*", "[0-9a-f]{12}"
PLACE = re.compile(f"{_ID}/{_FILE}|studies/{_ID}/([^./][^/]*/){{,2}}{_FILE}|baselines/{_ID}.json")


class ArchiveMember(NamedTuple):
    """One file, as the manifest lists it."""

    name: str
    size: int
    sha256: str


def pack(
    store: Store, file: str | Path, *, studies: Iterable[str] | None = None, runs: Iterable[str] | None = None
) -> list[str]:
    """Write a store as one file: all of it, or the studies and runs of these ids. The same files give the same bytes.

    A study is reported from its runs, so name those with it. Interrupted runs can be gone on with elsewhere; what is
    computed once for many runs is computed again there. Tells what was left out: runs that a process is working on, or
    that cannot be packed as a whole, and other files that an archive cannot have.
    """
    file, everything = Path(file), studies is None and runs is None
    if not file.parent.is_dir():
        raise InputError(f"{file} cannot be written: there is no folder {file.parent}")
    found: dict[str, Path] = {}
    left: list[str] = []
    if everything and (problem := folder_fault(store.folder / "studies")):
        left.append(f"{store.folder / 'studies'} ({problem})")
    for folder in _all(store) if everything else _named(store, studies or (), runs or ()):
        files, problems = _contents(store, folder)
        needed = {folder, *(folder / name for name in NEEDED)}
        if lacking := sorted(needed & problems.keys()):  # without it, this would be something else where it is unpacked
            where = "" if lacking[0] == folder else f"{lacking[0].name}: "
            left.append(f"{folder} ({where}{problems[lacking[0]]})")
            continue
        found |= files
        left += [f"{path} ({problem})" for path, problem in problems.items()]
    if not found:
        why = f"left out {left[0]}" if left else "it has no runs and no studies"
        raise InputError(f"nothing to pack in {store.folder}: {why}")
    temporary = file.with_name(f".{file.name}.{uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as target:
            _write(found, ZipFile(target, "w"))
            target.flush()
            os.fsync(target.fileno())
        os.replace(temporary, file)
    except OSError as error:
        where = str(file) if error.filename in (None, str(temporary)) else str(error.filename)
        why = "it has gone meanwhile" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise InputError(f"{file} cannot be packed: {why}, {where}") from error
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
        return "is not a valid file name"
    return ""


def _all(store: Store) -> list[Path]:
    studies = store.folder / "studies"
    return sorted([*inside(store.folder), *([] if folder_fault(studies) else inside(studies))])


def _named(store: Store, studies: Iterable[str], runs: Iterable[str]) -> list[Path]:
    named = {run: store.run(run).folder for run in runs}  # which refuses what is no id
    named |= {study: store.folder / "studies" / store.run(study).id for study in studies}
    for name, folder in named.items():
        if not os.path.lexists(folder):
            raise InputError(f"{name} cannot be packed: it is not in {store.folder}")
    return list(named.values())


def _contents(store: Store, folder: Path) -> tuple[dict[str, Path], dict[Path, str]]:
    """What of a run or a study to pack, by its name in the archive; and why other things in it cannot be."""
    if folder.is_symlink() or Run(folder).claim.holder:
        return {}, {folder: LINK if folder.is_symlink() else "another process works on it"}
    # no process works on it elsewhere, and a finished run needs no more
    unwanted = AT_WORK if os.path.lexists(folder / "result.json") else HERE
    files: dict[str, Path] = {}
    problems: dict[Path, str] = {}

    def unread(error: OSError) -> None:
        problems[Path(error.filename)] = str(error.strerror)

    for inner, folders, names in os.walk(folder, onerror=unread):
        others = [name for name in folders if os.path.islink(os.path.join(inner, name)) or Path(name).suffix in KINDS]
        folders[:] = sorted(set(folders) - set(others))
        for path in (Path(inner, name) for name in (*others, *names) if name not in unwanted and name[0] != "."):
            name = path.relative_to(store.folder).as_posix()
            if problem := _unfit(path, name):
                problems[path] = problem
            else:
                files[name] = path
    return files, problems


def _unfit(path: Path, name: str) -> str:
    """Why a file cannot be packed under this name; empty if it can."""
    if os.path.islink(path):
        return LINK
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        return "no file that can be read"
    if path.suffix == ".json" and path.stat().st_size > LARGEST:
        return f"a document of more than {LARGEST:,} bytes"
    if problem := fault(name):
        return f"its name {problem}"
    return "" if PLACE.fullmatch(name) else "it has no place in a store"


def _write(found: dict[str, Path], archive: ZipFile) -> None:
    by_age = sorted(found, key=lambda name: (found[name].stat().st_mtime_ns, name))
    with archive:
        packed = {name: _add(archive, name, found[name]) for name in sorted(found)}
        manifest = {"schema": SCHEMA, "files": [packed[name] for name in by_age]}
        archive.writestr(_entry(MANIFEST), json.dumps(manifest, separators=(",", ":")) + "\n")


def _add(archive: ZipFile, name: str, path: Path) -> ArchiveMember:
    """The file goes in block by block; its size and hash are those of the bytes that went in."""
    digest, size = sha256(), 0
    large = path.stat().st_size > 2**30
    with open(path, "rb") as source, archive.open(_entry(name), "w", force_zip64=large) as target:
        while block := source.read(BLOCK):
            target.write(block)
            digest.update(block)
            size += len(block)
    return ArchiveMember(name, size, digest.hexdigest())


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, DATE)
    entry.create_system, entry.compress_type = 3, ZIP_DEFLATED  # Unix, wherever it was written
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry
