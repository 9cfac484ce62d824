"""Short rows about finished runs, kept so that a long list need not open every result again."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ordinate.core.errors import InputError
from ordinate.store.files import Journal
from ordinate.store.run import Run
from ordinate.store.store import Store

Row = dict[str, Any]


class RowCache:
    """One row per finished run. A row holds as long as the result it was made from is the same file."""

    def __init__(self, store: Store, version: int) -> None:
        """A new `version` of what rows hold makes all of them anew."""
        self.journal, self.version = Journal(store.folder / "table.jsonl"), version
        self.known: dict[str, Row] = {}
        self.new: list[Row] = []
        with suppress(InputError):  # a damaged one is made again
            self.known = {line["run"]: line for line in self.journal.read() if line.get("version") == version}

    def row(self, run: Run, describe: Callable[[Run], Row]) -> Row:
        """What `describe` says of a run, unless that is known."""
        try:
            found = (run.folder / "result.json").stat()
        except OSError:
            return describe(run)  # not finished: it changes
        stamp = [found.st_mtime_ns, found.st_size]
        line = self.known.get(run.id)
        if line is None or line["stamp"] != stamp:
            line = {"run": run.id, "version": self.version, "stamp": stamp, "row": describe(run)}
            self.known[run.id] = line
            self.new.append(line)
        return dict(line["row"])

    def keep(self) -> None:
        """Write down what was new, where that is possible."""
        if self.new:
            with suppress(OSError):
                self.journal.append(self.new)
            self.new = []
