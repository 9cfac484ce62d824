"""The bin of a store: deleted comparisons and runs, in a store of their own from which they can be restored."""

import os
import shutil
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.store.files import folder_fault, refuse_link
from ordinate.studies import study_store
from ordinate.studies.check import runs_alike, runs_to_pack
from ordinate.studies.driver import driver
from ordinate.studies.study_store import StoredStudy


def bin_of(store: Store) -> Store:
    """What was deleted, to be read like any store."""
    return Store(store.folder / "bin")


def delete_study(store: Store, kept: StoredStudy) -> int:
    """Move a comparison into the bin, with those of its runs that no other comparison could use. Returns how many."""
    store.check_writable()
    if driver(kept.folder) is not None:
        raise InputError(f"comparison {kept.study.id} is running: stop it before it is deleted")
    others = [other for name, other in study_store.readable(store).items() if name != kept.study.id]
    shared = {run for other in others for run in runs_alike(store, other)}
    own = sorted(runs_to_pack(store, kept) - shared)
    _check_idle(store, own)
    delete_runs(store, own)
    _move(kept.folder, bin_of(store).folder / "studies")
    return len(own)


def delete_runs(store: Store, ids: list[str]) -> None:
    """Move runs into the bin. A comparison that needs one of them trains it again when it is continued."""
    store.check_writable()
    _check_idle(store, ids)
    for name in ids:
        _move(store.run(name).folder, bin_of(store).folder)


def restore_study(store: Store, kept: StoredStudy) -> None:
    """Move a comparison and its runs back out of the bin."""
    store.check_writable()
    if (store.folder / "studies" / kept.study.id).exists():
        raise InputError(f"comparison {kept.study.id} is in the store again: delete it there to restore the old one")
    for name in sorted(runs_to_pack(bin_of(store), kept)):
        if not store.run(name).folder.exists():  # it may have been trained again meanwhile
            restore_run(store, name)
    _move(kept.folder, store.folder / "studies")


def restore_run(store: Store, run_id: str) -> None:
    """Move a run back out of the bin."""
    store.check_writable()
    if store.run(run_id).folder.exists():
        raise InputError(f"run {run_id} is in the store again: delete it there to restore the old one")
    _move(bin_of(store).run(run_id).folder, store.folder)


def _check_idle(store: Store, ids: list[str]) -> None:
    """Refuse before anything is moved."""
    for name in ids:
        if not store.run(name).folder.is_dir():
            raise InputError(f"no run {name} in {store.folder}: nothing was deleted")
        if store.run(name).busy():
            raise InputError(f"run {name} is running: stop it before it is deleted")


def _move(folder: Path, target: Path) -> None:
    refuse_link(folder)
    if problem := folder_fault(target):
        raise InputError(f"{target} {problem}")
    target.mkdir(parents=True, exist_ok=True)
    if (target / folder.name).exists():  # deleted before, and made again since
        shutil.rmtree(target / folder.name)
    os.rename(folder, target / folder.name)
