"""One run's folder."""

import json
import os
import re
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ordinate.core.config import digest
from ordinate.core.errors import InputError, OtherVersionError, brief
from ordinate.results.run_result import LanguageModelResult, Machine, Record, RunResult, StoredConfig
from ordinate.results.run_summary import RunState
from ordinate.results.serialize import read, write
from ordinate.store.claim import Claim, LostClaimError
from ordinate.store.documents import read_document, write_document
from ordinate.store.files import Journal, no_link, read_json, refuse_link, regular, write_atomic, write_json
from ordinate.store.sums import file_sums

AT_WORK = ("claim", "heartbeat", "checkpoint.pt")  # files of a run that a process is working on

LONGEST_ERROR = 2**20  # letters


class Run:
    """config.json, env.json, metrics.jsonl, result.json, log.txt, error.txt, claim, weights, maps, checkpoint.

    What is read from them is complete and valid, or an InputError names the file and the problem.
    Only the process that holds the claim writes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.id = folder, folder.name
        self.journal, self.claim = Journal(folder / "metrics.jsonl"), Claim(folder / "claim")

    @property
    def config(self) -> StoredConfig:
        refuse_link(self.folder)
        content = read_json(self.folder / "config.json")
        try:
            config = read(StoredConfig, content, "configuration")
            if (named := digest(config)) != self.id:
                raise ValueError(f"of run {named}")
        except ValueError as error:
            raise InputError(f"{self.folder / 'config.json'} is damaged ({error}): move the folder away") from error
        return config

    @property
    def machine(self) -> Machine:
        return read_document(Machine, self.folder / "env.json", "environment")

    @property
    def done(self) -> bool:
        """Whether there is a result. A broken link or an unreadable file is a damaged result, not a missing one."""
        try:
            os.lstat(self.folder / "result.json")
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise InputError(f"{self.folder} cannot be read: {error.strerror}") from error
        return True

    @property
    def result(self) -> RunResult:
        refuse_link(self.folder)
        result = read_document(RunResult, self.folder / "result.json", "result")
        if result.run != self.id:
            raise InputError(f"{self.folder / 'result.json'} is damaged (of run {result.run}): move it away")
        return result

    def records(self, size: int | None = None) -> Iterator[Record]:
        """The journal, line by line, up to a size if one is given. Steps that go back mean that two processes wrote."""
        last = 0
        for number, line in enumerate(self.journal.read(size), start=1):
            try:
                record = read(Record, line, "record")
                if record.run != self.id:
                    raise ValueError(f"of run {record.run}")
                if record.step < last:
                    raise ValueError(f"step {record.step} follows step {last}")
            except ValueError as error:
                where = f"{self.journal.path} is damaged (line {number}: {error})"
                raise InputError(f"{where}: move the run's folder away") from error
            last = record.step
            yield record

    @property
    def step(self) -> int:
        """How far the journal has come."""
        return max((record.step for record in self.records()), default=0)

    @property
    def state(self) -> RunState:
        if self.done:
            return "done"
        if self.claim.holder:
            return "running"
        return "failed" if (self.folder / "error.txt").exists() else "interrupted"

    @property
    def error(self) -> str:
        """The last line of the error that ended the run, empty if there is none."""
        try:
            with open(self.folder / "error.txt", encoding="utf-8", errors="replace", opener=regular) as file:
                text = file.read(LONGEST_ERROR)
        except (OSError, InputError):
            return ""
        last = text.strip().rpartition("\n")[2]
        return brief(re.sub(r"^ordinate\.[\w.]+: ", "", last))  # a sentence for users needs no class

    def begin(self, config: dict[str, Any], machine: Machine) -> None:
        """Write what is run, and where."""
        with self.writing():
            if not (self.folder / "config.json").exists():
                write_json(self.folder / "config.json", config)
            elif read_json(self.folder / "config.json") != json.loads(json.dumps(config)):
                raise InputError(f"{self.folder} holds another configuration: use another store, or move it away")
            try:
                first = self.machine if os.path.lexists(self.folder / "env.json") else None
            except OtherVersionError:
                raise
            except InputError:
                first = None  # damaged, and written again
            if first:  # env.json keeps the first machine; the log shows where the run continued
                self.log(f"going on: {json.dumps(write(machine))}")
            else:
                write_document(self.folder / "env.json", machine, indent=1)

    def write(self, name: str, data: bytes) -> None:
        """Replace one of the files as a whole."""
        with self.writing():
            write_atomic(self.folder / name, data)

    def record(self, records: Sequence[Record]) -> None:
        with self.writing():
            self.journal.append([write(record) for record in records])

    def finish(self, result: RunResult | LanguageModelResult) -> None:
        """Write the result with the hashes of all files that belong to it. From then on the run is done."""
        with self.writing():
            whole = replace(result, files=file_sums(self.folder))
            read(type(whole), write(whole), "result")  # a result that no reader accepts must not count as done
            write_document(self.folder / "result.json", whole)

    def fail(self, error: BaseException | str) -> None:
        """Store an error in `error.txt`; the next attempt removes it."""
        text = error if isinstance(error, str) else "".join(traceback.format_exception(error))
        with suppress(OSError, LostClaimError):  # a full disk must not hide the error itself
            self.write("error.txt", text.encode("utf-8", "backslashreplace"))

    def log(self, text: str) -> None:
        with open(self.folder / "log.txt", "a", opener=no_link) as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    def writing(self) -> AbstractContextManager[None]:
        """A context in which this process holds the claim, and no other can take it over."""
        return self.claim.writing()

    @contextmanager
    def claimed(self) -> Iterator[bool]:
        """Yields whether this process got the claim, which it then holds until the `with` ends or it dies."""
        mine = self._take()
        try:
            yield mine
        finally:
            if mine:
                self.claim.free()

    def busy(self) -> bool:
        """Whether another process is working on the run, so that waiting for it makes sense."""
        with self.claim.locked() as lock:
            return self.claim.awaited(lock) is not None

    def tidy(self) -> None:
        """Remove the leftovers of a process that was killed."""
        if self.leftovers():
            with self.claim.locked() as lock:
                if not self.claim.awaited(lock):
                    for path in self.leftovers():
                        path.unlink(missing_ok=True)

    def leftovers(self) -> list[Path]:
        """Files that are useless once their writer is dead: temporary ones, and checkpoints beside a result."""
        unused = AT_WORK if self.done else ("claim",)
        names = sorted(os.listdir(self.folder)) if self.folder.exists() else ()
        temporary = re.compile(r"\..*\.tmp")  # a process died while it replaced a file
        paths = [self.folder / name for name in names if name in unused or temporary.fullmatch(name)]
        return [path for path in paths if not path.is_dir()]

    def _take(self) -> bool:
        with self.claim.locked() as lock:
            # Listed anew: of a name that was missing a moment ago, a shared disk may say for a while that it is still.
            if "result.json" in os.listdir(self.folder) or not self.claim.take(lock):
                return False
            for path in [self.folder / "error.txt", *self.leftovers()]:
                if path != self.claim.path:
                    path.unlink(missing_ok=True)
            return True
