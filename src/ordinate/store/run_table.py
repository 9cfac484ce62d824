"""The runs of a store, one row each. Rows of finished runs are kept, so that a long list need not open every result."""

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from ordinate.core.errors import InputError, error_text
from ordinate.results.run_result import StoredConfig, encoding_name
from ordinate.results.run_summary import OutsideScore, RunSummary
from ordinate.results.serialize import read, write
from ordinate.statistics.observations import range_name
from ordinate.statistics.phrases import training_words
from ordinate.store.files import LONGEST_LINE, Journal, parse_json, refuse_link, regular, write_atomic
from ordinate.store.run import Run
from ordinate.store.store import Store

VERSION = 5  # raised when `summarize` changes, so that all rows are computed again
LARGEST = 2**29  # bytes: half a million rows
# Verdicts of runs that learned the task, whose scores out of distribution are shown; empty where loss is the score.
REPORTED = ("solves", "partial", "fits", "")


@dataclass(frozen=True, slots=True)
class KeptRow:
    """One line of `table.jsonl`. It is valid as long as the run's files have the same stamp."""

    version: int
    stamp: tuple[int, ...]  # time and size of config.json and result.json
    row: RunSummary
    sum: str

    @classmethod
    def of(cls, stamp: tuple[int, ...], row: RunSummary) -> "KeptRow":
        return cls(VERSION, stamp, row, _sum(stamp, row))


class RunTable:
    """One row per run of a store."""

    def __init__(self, store: Store) -> None:
        self.store, self.journal = store, Journal(store.folder / "table.jsonl")
        self.known: dict[str, KeptRow] = {}
        self.new: list[KeptRow] = []
        self.useless = 0  # lines of another version, superseded or damaged
        with suppress(OSError, InputError), open(self.journal.path, "rb", opener=regular) as file:
            if os.fstat(file.fileno()).st_size > LARGEST:
                self.useless = LARGEST  # to be written anew
                return
            for text in iter(lambda: file.readline(LONGEST_LINE), b""):
                self._read_line(text)

    def rows(self) -> tuple[list[RunSummary], dict[str, str]]:
        """A row for each run, oldest first, and the errors of damaged runs by id."""
        rows, damaged = [], {}
        for run in self.store.lost():
            damaged[run.id] = f"{run.folder} is damaged (it has no config.json): move it away"
        for run in self.store.runs():
            try:
                refuse_link(run.folder)
                rows.append(self.row(run))
            except (InputError, OSError) as error:
                damaged[run.id] = error_text(error)  # one damaged run must not hide the others
        return rows, damaged

    def row(self, run: Run) -> RunSummary:
        """The kept row of a run, or a new one."""
        try:
            files = [(run.folder / name).stat() for name in ("config.json", "result.json")]
        except OSError:
            return summarize(run)  # not finished: it changes
        stamp = tuple(number for file in files for number in (file.st_mtime_ns, file.st_size))
        kept = self.known.get(run.id)
        if kept is None or kept.stamp != stamp:
            kept = KeptRow.of(stamp, summarize(run))
            self.useless += run.id in self.known
            self.known[run.id] = kept
            self.new.append(kept)
        return kept.row

    def save(self) -> None:
        """Write new rows, if the store can be written; a file that is mostly useless is written anew."""
        with suppress(OSError, InputError):
            if self.useless > len(self.known) // 2:
                lines = "".join(json.dumps(write(kept), separators=(",", ":")) + "\n" for kept in self.known.values())
                write_atomic(self.journal.path, lines.encode())
                self.useless = 0
            elif self.new:
                self.journal.append([write(kept) for kept in self.new])
        self.new = []

    def _read_line(self, text: bytes) -> None:
        try:
            kept = read(KeptRow, parse_json(text), "row")
            if kept != KeptRow.of(kept.stamp, kept.row):
                raise ValueError("another version, or damaged")
        except ValueError:
            self.useless += 1
            return
        self.useless += kept.row.run in self.known
        self.known[kept.row.run] = kept


def summarize(run: Run) -> RunSummary:
    """The row of one run, from its files."""
    config, state = run.config, run.state
    about = dict(
        run=run.id, task=config["task"], encoding=encoding_name(config), seed=config["seed"], rate=config["lr"],
        steps=config["steps"], started=started(run), settings=_settings(config),
    )  # fmt: skip
    if state != "done":
        return RunSummary(**about, state=state, step=run.step, error=run.error)  # type: ignore[arg-type]
    result = run.result
    words = {key: word or "" for key, word in result.words.items()}
    shown, end = result.headline, None if result.bar is None else result.training_end()
    return RunSummary(
        **about,  # type: ignore[arg-type]
        state="diverged" if result.diverged else "done",
        step=result.steps,
        inside=result.in_distribution.score,
        outside=tuple(OutsideScore(r.split, r.length, r.score, words[r.key]) for r in result.out_of_distribution),
        headline=range_name(*shown.key),
        score=shown.score if words[shown.key] in REPORTED else None,
        word=words[shown.key],
        learned_at=end.learned_at if end else None,
        training=training_words(end, result.bar) if end else "",
        seconds=result.seconds,
    )


def _settings(config: StoredConfig) -> str:
    """The hash of all settings but the seed: runs that differ in nothing else have the same."""
    shared = {key: value for key, value in config.items() if key != "seed"}
    return sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]


def started(run: Run) -> str:
    """When the run began: from its log, even if its files were copied since."""
    try:
        with open(run.folder / "log.txt", encoding="utf-8", errors="replace", opener=regular) as file:
            first = file.readline()[:19]
        time.strptime(first, "%Y-%m-%d %H:%M:%S")
        return first
    except (OSError, ValueError):
        written = (run.folder / "config.json").stat().st_mtime
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(written))


def _sum(stamp: tuple[int, ...], row: RunSummary) -> str:
    """Shows whether a line is as it was written."""
    return sha256(json.dumps([stamp, write(row)], sort_keys=True).encode()).hexdigest()[:16]
