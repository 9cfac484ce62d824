"""The studies of a store, each in a folder with its `study.json`."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ordinate.core.display import printable
from ordinate.core.errors import InputError, OtherVersionError, nearest
from ordinate.store import Store
from ordinate.store.documents import check_sum, known_schema, write_document
from ordinate.store.files import folder_fault, read_json, refuse_link
from ordinate.store.store import by_age, without
from ordinate.studies.command import check_command
from ordinate.studies.plan import Study, name_of

_BESIDE = ("schema", "command", "title", "note", "sum")  # what the id of a study does not depend on
LONGEST_TITLE, LONGEST_NOTE = 100, 5_000  # characters


@dataclass(frozen=True)
class StoredStudy:
    """A study with its folder and its command."""

    study: Study
    folder: Path
    command: str  # without its store
    title: str = ""  # the study and part that it was made for, as `s4-k-back: as stated`, or a name given by the user
    note: str = ""

    @property
    def again(self) -> str:
        """The command that goes on with it where it is."""
        return self.command + Store(self.folder.parent.parent).option


def folder_of(store: Store, study: Study) -> Path:
    """Where a study and its report are kept."""
    return store.folder / "studies" / study.id


def save(store: Store, study: Study, command: str, title: str = "") -> StoredStudy:
    """Write `study.json`, before the first run. A name and a note that the user gave it stay."""
    folder, before = _all(store) / study.id, None
    if (folder / "study.json").exists():
        try:
            before = _read(folder)
        except OtherVersionError:
            known_schema(read_json(folder / "study.json"), folder / "study.json")
        except InputError:
            pass  # damaged: it is written again
    folder.mkdir(parents=True, exist_ok=True)
    title, note = (title or before.title, before.note) if before else (title, "")
    kept = StoredStudy(study, folder, command, title, note)
    _write(kept)
    return kept


def describe(kept: StoredStudy, title: str, note: str) -> StoredStudy:
    """Give a study another title and note. Its age, by which studies are ordered, stays."""
    for what, text, most in (("name", title, LONGEST_TITLE), ("note", note, LONGEST_NOTE)):
        if len(text) > most or not printable(text.replace("\n", "")):
            raise InputError(f"a {what} has at most {most:,} visible characters, got {len(text):,}: give another")
    path, named = kept.folder / "study.json", replace(kept, title=title.strip(), note=note.strip())
    age = path.stat()
    _write(named)
    os.utime(path, ns=(age.st_atime_ns, age.st_mtime_ns))
    return named


def _write(kept: StoredStudy) -> None:
    texts = {"command": kept.command, "title": kept.title} | ({"note": kept.note} if kept.note else {})
    write_document(kept.folder / "study.json", {**texts, **kept.study.as_dict()}, indent=1)


def find(store: Store, start: str = "", others: Iterable[str] = ()) -> StoredStudy:
    """The study whose id starts with `start`, or the last one of the task or title `start`; without one, the last.

    `others`: names that are known elsewhere, to suggest.
    """
    if store.folder.exists() and not store.folder.is_dir():
        raise InputError(f"{store.folder} is a file, not a folder of runs")
    known = names(store)
    if not known and (folders := lost(store)):
        raise InputError(f"{folders[0]} is damaged (it has no study.json): move it away")
    if not known and not (start and others):
        raise InputError(f"no study in {store.folder} yet: start one with  ordinate compare k_back{store.option}")
    found = [name for name in known if name.startswith(start)]
    if not found and (named := _find_by_name(store, known, start)):
        return named
    if not found:
        listed = f"`ordinate list comparisons{store.option}` and `ordinate list studies` name them"
        close = nearest(start, [*known, *titles(store), *others], otherwise=listed)
        raise InputError(f"no study or comparison {start!r} in {store.folder}: {close}")
    if start and len(found) > 1:
        raise InputError(f"{len(found)} studies start with {start!r}: give more digits")
    return _read(store.folder / "studies" / found[-1])


def titles(store: Store) -> set[str]:
    """The names by which `find` also finds studies."""
    found = set()
    for study_id in names(store):
        with suppress(InputError):
            kept = _read(store.folder / "studies" / study_id)
            found |= {kept.title, *kept.study.tasks} - {""}
    return found


def has(store: Store, name: str) -> bool:
    """Whether `find` finds something."""
    try:
        return bool(find(store, name))
    except InputError:
        return False


def _find_by_name(store: Store, known: list[str], name: str) -> StoredStudy | None:
    """The last study of this title, or else of this task alone."""
    same_task = None
    for study_id in reversed(known):
        with suppress(InputError):  # a damaged study does not block another
            kept = _read(store.folder / "studies" / study_id)
            if kept.title == name:
                return kept
            same_task = same_task or (kept if kept.study.tasks == (name,) else None)
    return same_task


def find_by_command(store: Store, command: str) -> StoredStudy | None:
    """The study that this very command made: one that planned itself by the machine's speed goes on as planned."""
    for name in reversed(names(store)):
        with suppress(InputError):  # a damaged study does not block another
            kept = _read(store.folder / "studies" / name)
            if kept.command == command:
                return kept
    return None


def finished_with_fewer_seeds(store: Store, study: Study) -> tuple[int, ...]:
    """The smaller numbers of seeds with which this store has a report of the same comparison."""
    if study.seeds == "auto":
        return ()
    own, found = json.loads(json.dumps(study.as_dict())), set()
    del own["seeds"]
    for name in names(store):
        folder = store.folder / "studies" / name
        with suppress(InputError):  # a damaged study does not block another
            content = read_json(folder / "study.json") if (folder / "report.html").exists() else {}
            seeds = content.get("seeds")
            if type(seeds) is int and seeds < study.seeds and all(content.get(key) == own[key] for key in own):
                found.add(seeds)
    return tuple(sorted(found))


def _read(folder: Path) -> StoredStudy:
    refuse_link(folder)
    content = known_schema(read_json(folder / "study.json"), folder / "study.json")
    try:
        check_sum(content)
        command = check_command(content.get("command"))
        title, note = content.get("title", ""), content.get("note", "")
        for what, text in (("title", title), ("note", note)):
            if not isinstance(text, str) or not printable(text.replace("\n", "")):
                raise ValueError(f"its {what} is no visible text")
        if name_of({key: value for key, value in content.items() if key not in _BESIDE}) != folder.name:
            raise ValueError("its content has another name")
    except ValueError as error:
        raise InputError(f"{folder / 'study.json'} is damaged ({error}): move it away") from error
    try:
        kept = StoredStudy(Study.from_dict(content), folder, command, title, note)
        if kept.study.id != folder.name:
            raise ValueError("it says the same in another way")
        return kept
    except InputError as error:  # of an encoding, say, that is not installed here
        raise OtherVersionError(f"study {folder.name} cannot be used here: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{folder / 'study.json'} is damaged ({error!r}): move it away") from error


def names(store: Store) -> list[str]:
    """The ids of all studies, the last that was started at the end."""
    return [folder.name for folder in by_age(_all(store), "study.json")]


def readable(store: Store) -> dict[str, StoredStudy]:
    """All studies by id, the last that was started at the end, without damaged ones."""
    found = {}
    for name in names(store):
        with suppress(InputError):
            found[name] = _read(store.folder / "studies" / name)
    return found


def lost(store: Store) -> list[Path]:
    """Folders of studies that have files but no study.json."""
    return without(_all(store), "study.json", ("driver",))


def _all(store: Store) -> Path:
    """The folder of all studies."""
    folder = store.folder / "studies"
    if problem := folder_fault(folder):
        raise InputError(f"{folder} {problem}")
    return folder
