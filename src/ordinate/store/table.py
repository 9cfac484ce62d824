"""Short rows about finished runs, kept so that a long list need not open every result again."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any

from ordinate.core.errors import InputError
from ordinate.store.files import LONGEST_LINE, Journal, parse_json, regular, write_atomic
from ordinate.store.run import Run
from ordinate.store.store import Store

Row = dict[str, Any]
LARGEST = 2**29  # bytes: half a million rows


class RowCache:
    """One row per finished run. A row holds as long as the files it was made from are the same."""

    def __init__(self, store: Store, version: int) -> None:
        """A new `version` of what rows hold makes all of them anew."""
        self.journal, self.version = Journal(store.folder / "table.jsonl"), version
        self.known: dict[str, Row] = {}
        self.new: list[Row] = []
        self.useless = 0  # lines of another version, superseded or damaged
        with suppress(OSError, InputError), open(self.journal.path, "rb", opener=regular) as file:
            if os.fstat(file.fileno()).st_size > LARGEST:
                self.useless = LARGEST  # to be written anew
                return
            for text in iter(lambda: file.readline(LONGEST_LINE), b""):
                self._remember(text)

    def _remember(self, text: bytes) -> None:
        """One line, if it is what was written."""
        try:
            line = parse_json(text)
            if line["version"] != self.version or line["sum"] != _sum(line):
                raise ValueError("not ours")
        except (ValueError, TypeError, KeyError):
            self.useless += 1
            return
        self.useless += line["run"] in self.known
        self.known[line["run"]] = line

    def row(self, run: Run, describe: Callable[[Run], Row]) -> Row:
        """What `describe` says of a run, unless that is known."""
        try:
            found = [(run.folder / name).stat() for name in ("config.json", "result.json")]
        except OSError:
            return describe(run)  # not finished: it changes
        stamp = [number for file in found for number in (file.st_mtime_ns, file.st_size)]
        line = self.known.get(run.id)
        if line is None or line["stamp"] != stamp:
            line = {"run": run.id, "version": self.version, "stamp": stamp, "row": describe(run)}
            line["sum"] = _sum(line)
            self.useless += run.id in self.known
            self.known[run.id] = line
            self.new.append(line)
        return dict(line["row"])

    def keep(self) -> None:
        """Write down what was new, where that is possible; a file that is mostly useless is written anew."""
        with suppress(OSError, InputError):
            if self.useless > len(self.known) // 2:
                lines = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.known.values())
                write_atomic(self.journal.path, lines.encode())
                self.useless = 0
            elif self.new:
                self.journal.append(self.new)
        self.new = []


def _sum(line: Row) -> str:
    """Tells whether a line is as it was written."""
    content = json.dumps([line["run"], line["stamp"], line["row"]], sort_keys=True)
    return sha256(content.encode()).hexdigest()[:16]
