"""Starts and stops comparisons in separate processes, which outlive clicks, reloads, tabs and the app itself."""

import shlex
import subprocess
import sys
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.store.files import no_link
from ordinate.studies import driver as drivers
from ordinate.studies import study_store
from ordinate.studies.compare import Job
from ordinate.studies.driver import driver, record
from ordinate.studies.local import usable_cores
from ordinate.studies.study_store import StoredStudy

_children: list["subprocess.Popen[bytes]"] = []  # to be waited for: a finished child stays a zombie until it is
_stopped: dict[Path, int] = {}  # folders of studies whose driver, a process, was asked to stop; for every tab


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


def stop(folder: Path) -> None:
    """Ask its process to finish the runs under way; asked again, it stops at once."""
    process = driver(folder)
    if drivers.stop(folder) and process is not None:
        _stopped[folder] = process.pid


def stopping(folder: Path) -> bool:
    """Whether its present process was asked to stop, in whatever tab."""
    process = driver(folder)
    return process is not None and _stopped.get(folder) == process.pid


def workers(kept: StoredStudy) -> int | None:
    """How many its process uses; none if another program than this app started it."""
    process = driver(kept.folder)
    if process is None or process.pid not in {child.pid for child in _children}:
        return None
    return max(1, len(usable_cores()) // kept.study.bases[0][2].threads)


def _launch(folder: Path, command: str) -> None:
    _children[:] = [child for child in _children if child.poll() is None]
    words = [sys.executable, "-m", "ordinate", *shlex.split(command)[1:], "--yes", "--no-estimate"]
    with open(folder / "log.txt", "ab", opener=no_link) as log:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    _children.append(child)
    record(folder, child.pid)  # at once: loading takes it a few seconds
