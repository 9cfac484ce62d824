"""Starts comparisons in separate processes, which outlive clicks, reloads, tabs and the app itself."""

import shlex
import subprocess
import sys
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.studies import study_store
from ordinate.studies.compare import Job
from ordinate.studies.driver import driver, record
from ordinate.studies.study_store import StoredStudy

_children: list["subprocess.Popen[bytes]"] = []  # to be waited for: a finished child stays a zombie until it is


def start(job: Job) -> None:
    """Start a comparison as a command line process."""
    job.store.check_writable()
    if driver(job.folder) is not None:
        raise InputError("this comparison is under way already: its progress is shown below")
    study_store.save(job.store, job.study, job.command)
    _launch(job.folder, job.again)


def resume(store: Store, kept: StoredStudy) -> None:
    """Continue a comparison that was stopped."""
    store.check_writable()
    if driver(kept.folder) is None:
        _launch(kept.folder, kept.again)


def _launch(folder: Path, command: str) -> None:
    _children[:] = [child for child in _children if child.poll() is None]
    words = [sys.executable, "-m", "ordinate", *shlex.split(command)[1:], "--yes"]
    with open(folder / "log.txt", "ab") as log:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    _children.append(child)
    record(folder, child.pid)  # at once: loading takes it a few seconds
