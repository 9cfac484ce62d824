"""Anyone's results from a CSV file: read once, row by row, into columns."""

import csv
import os
import select
import sys
from _csv import Reader
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from io import BufferedReader, BytesIO, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Int

from ordinate.core.errors import InputError
from ordinate.statistics.large.columns import Observations
from ordinate.statistics.observations import SPLITS, TaskFacts
from ordinate.statistics.results_fields import (
    OPTIONAL,
    REQUIRED,
    SPLIT,
    FieldError,
    Names,
    Shared,
    Sharing,
    brief,
    score,
    whole,
)

NAMED = 20  # columns that a sentence names
LONGEST_HEADER = 20_000  # letters
SHOWN = 5  # lines or tasks that a sentence names
VALID, ID, OOD = (SPLITS.index(split) for split in ("valid", "id", "ood"))
PATIENCE = 10  # seconds to wait for the writer of a named pipe


@dataclass(frozen=True)
class Reading:
    """What was read, and what the file does not tell."""

    observations: Observations
    limits: list[str]


def read_results(path: Path) -> Reading:
    """All rows of a file, of a pipe, or of standard input (`-`); or one sentence on the first that cannot be used."""
    try:
        with _opened(path) as file:
            return parse_results(file, "standard input" if str(path) == "-" else str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


@contextmanager
def _opened(path: Path) -> Iterator[BytesIO | BufferedReader]:
    if str(path) == "-":
        yield cast(BufferedReader, sys.stdin.buffer)
    elif _is_named_pipe(path):
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            waiting = select.poll()
            waiting.register(file, select.POLLIN)
            if not waiting.poll(1000 * PATIENCE):
                raise InputError(
                    f"{path} is a pipe into which nobody wrote for {PATIENCE} seconds: start the writer first"
                )
            os.set_blocking(file.fileno(), True)
            yield file
    else:
        with open(path, "rb") as file:
            yield file


def _is_named_pipe(path: Path) -> bool:
    """Pipes without a name have a writer, or end at once."""
    return Path(os.path.realpath(path)).is_fifo()  # `resolve` fails at links in a circle


def parse_results(content: BytesIO | BufferedReader, name: str, most: int | None = None) -> Reading:
    """The same of what need not be a file; `name` is what sentences call it, `most` the number of rows allowed."""
    file = TextIOWrapper(content, encoding="utf-8-sig", newline="")
    try:
        start = file.readline(LONGEST_HEADER + 1)
        if "\0" in start:
            raise InputError(f"{name} is no text: it begins with bytes that no CSV file has")
        if len(start) > LONGEST_HEADER:
            raise InputError(f"{name} is no table: its first line, with the column names, has no end in sight")
        delimiter = max(",;\t", key=start.count)
        return _read(name, csv.reader(chain([start], file), delimiter=delimiter, strict=True), most)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except csv.Error as error:
        raise InputError(f"{name} is not CSV: {error}") from error
    finally:
        file.detach()  # `content` belongs to the caller


def _read(name: str, rows: Reader, most: int | None) -> Reading:
    columns = next(rows, [])
    unread = _unread(name, columns)
    table = _GrowingColumns(name, columns)
    table.fill(rows, most)
    found, twice = without_repeats(table.observations(), table.lines(), name)
    check(found, name)
    remarks = limits(found, columns, twice, table.empty, table.nan)
    return Reading(found, [*unread, *remarks])


def _unread(name: str, columns: list[str]) -> list[str]:
    """A remark on columns that are not read; an error if a required one is missing."""
    missing = [column for column in REQUIRED if column not in columns]
    if missing:
        has = _listed(columns) or "no columns at all"
        raise InputError(f"{name} lacks {', '.join(missing)}: needed are {', '.join(REQUIRED)}; it has {has}")
    double = {column for column in columns if columns.count(column) > 1}
    if double:
        raise InputError(f"{name} has the column {brief(min(double))} twice")
    extra = [column for column in columns if column not in REQUIRED + OPTIONAL]
    return [f"columns that are not read: {_listed(extra)}"] if extra else []


def _listed(names: list[str]) -> str:
    return ", ".join(map(brief, names[:NAMED])) + (", ..." if len(names) > NAMED else "")


class _GrowingColumns:
    """The columns while they grow."""

    def __init__(self, name: str, columns: list[str]) -> None:
        self.name, self.width = name, len(columns)
        self.at = [columns.index(column) for column in REQUIRED]
        self.shared_at = [columns.index(column) if column in columns else None for column in OPTIONAL]
        self.tasks, self.encodings, self.shared = Names("task"), Names("encoding"), Sharing()
        self.facts: list[Shared] = []  # of each task
        self.ranges: dict[tuple[int, int, int], Shared] = {}
        self.task, self.encoding, self.split = array("i"), array("i"), array("b")
        self.seed, self.length, self.line = array("q"), array("q"), array("q")
        self.score, self.chance, self.sequences = array("d"), array("d"), array("q")
        self.empty: list[int] = []  # lines
        self.nan: list[int] = []

    def fill(self, rows: Reader, most: int | None) -> None:
        """Read to the end, or to the first row that cannot be used."""
        for row in rows:
            if not row:
                continue
            line = rows.line_num
            if most is not None and len(self.line) >= most:
                raise InputError(f"{self.name} has more than {most:,} rows: split it, or use  ordinate analyze")
            try:
                self._add(row, line)
            except FieldError as wrong:
                raise InputError(f"{self.name}, line {line}: {wrong}") from None
        if not self.line:
            raise InputError(f"{self.name} has no rows below its header")

    def _add(self, row: list[str], line: int) -> None:
        if len(row) != self.width:
            raise FieldError("not as many fields as the header has")
        encoding, task, seed, length, split, value = [row[at] for at in self.at]
        number, place = self.tasks[task], (self.tasks[task], SPLIT[split], whole("length", length))
        shared = self.shared[tuple(["" if at is None else row[at] for at in self.shared_at])]
        result = score(value)
        if number == len(self.facts):
            self.facts.append(shared)
        self.facts[number].check_task(shared, self.tasks.names[number])
        first = self.ranges.setdefault(place, shared)
        if first is not shared:
            first.check_range(shared, self.tasks.names[number], split, place[2], scored=value != "")
        if result != result:
            (self.nan if value.strip() else self.empty).append(line)
        self.task.append(number)
        self.encoding.append(self.encodings[encoding])
        self.split.append(place[1])
        self.seed.append(whole("seed", seed))
        self.length.append(place[2])
        self.score.append(result)
        self.chance.append(shared.chance)
        self.sequences.append(shared.n)
        self.line.append(line)

    def lines(self) -> Int[np.ndarray, " n"]:
        return np.frombuffer(self.line, dtype=np.int64)

    def observations(self) -> Observations:
        """All columns; the file's chance is the only floor that it knows."""
        names = zip(self.tasks.names, self.facts, strict=True)
        diverged = np.zeros(len(self.line), dtype=bool)
        diverged[np.searchsorted(self.lines(), self.nan)] = True
        chance = np.frombuffer(self.chance)
        return Observations(
            tasks=tuple(TaskFacts(name, facts.bar, facts.direction) for name, facts in names),
            encodings=tuple(self.encodings.names),
            task=np.frombuffer(self.task, dtype=np.int32),
            encoding=np.frombuffer(self.encoding, dtype=np.int32),
            seed=np.frombuffer(self.seed, dtype=np.int64),
            split=np.frombuffer(self.split, dtype=np.int8),
            length=np.frombuffer(self.length, dtype=np.int64),
            score=np.frombuffer(self.score),
            diverged=diverged,
            chance=chance,
            floor=chance,
            sequences=np.frombuffer(self.sequences, dtype=np.int64),
        )


def without_repeats(given: Observations, lines: Int[np.ndarray, " n"], name: str) -> tuple[Observations, Sequence[int]]:
    """The rows without repetitions, and the lines of those left out; two rows that differ are an error."""
    keys = (given.length, given.split, given.seed, given.encoding, given.task)
    order = np.lexsort(keys)
    again = np.ones(len(order), dtype=bool)
    again[:1] = False
    for key in keys:
        again[1:] &= key[order[1:]] == key[order[:-1]]
    later, before = order[again], order[np.flatnonzero(again) - 1]
    if not len(later):
        return given, []
    same = (given.score[later] == given.score[before]) | (np.isnan(given.score[later]) & np.isnan(given.score[before]))
    same &= given.diverged[later] == given.diverged[before]
    if not same.all():
        at = int(np.flatnonzero(~same)[np.argmin(later[~same])])
        row = later[at]
        raise InputError(
            f"{name}, lines {lines[before[at]]} and {lines[row]}: two different rows for "
            f"{brief(given.encodings[given.encoding[row]])} on {brief(given.tasks[given.task[row]].name)}, seed "
            f"{given.seed[row]}, {SPLITS[given.split[row]]} {given.length[row]}: keep one"
        )
    keep = np.ones(len(order), dtype=bool)
    keep[later] = False
    arrays = {field.name: getattr(given, field.name) for field in fields(given)}
    kept: dict[str, Any] = {key: column[keep] for key, column in arrays.items() if isinstance(column, np.ndarray)}
    return replace(given, **kept), np.sort(lines[later]).tolist()


def check(found: Observations, name: str) -> None:
    """What single rows cannot show, or one sentence."""
    if (found.split == VALID).all():
        raise InputError(f"{name}: all rows have split valid, which chooses and never counts: give id or ood")
    scored = _scored(found)[found.task]
    odd = np.flatnonzero(scored & ((found.score < 0) | (found.score > 1)))
    if len(odd):
        raise InputError(
            f"{name}: {brief(found.tasks[found.task[odd[0]]].name)} has the score {float(found.score[odd[0]])!r}: "
            "write accuracies from 0 to 1 (or direction=lower for a loss)"
        )
    longest = np.zeros(len(found.tasks), dtype=np.int64)
    inside = found.split == ID
    np.maximum.at(longest, found.task[inside], found.length[inside])
    short = np.flatnonzero((found.split == OOD) & (found.length <= longest[found.task]))
    if len(short):
        task = found.task[short[0]]
        raise InputError(
            f"{name}: {brief(found.tasks[task].name)} has length {found.length[short[0]]} as ood, but {longest[task]} "
            "as id: what is out of distribution by length is longer"
        )


def limits(
    found: Observations, columns: Sequence[str], twice: Sequence[int], empty: Sequence[int], nan: Sequence[int]
) -> list[str]:
    """What a reader of the results must know that the file does not tell."""
    remarks, scored = [], _scored(found).any()
    if scored and "chance" not in columns:
        remarks.append("no column chance: it is taken as 0, so no score counts as at chance")
    if scored and "n" not in columns:
        remarks.append("no column n (sequences per score): the floor has no band of luck around it")
    if scored and "bar" not in columns:
        remarks.append("no column bar: a task counts as learned from 0.95 on")
    if "direction" not in columns:
        remarks.append("no column direction: higher scores are taken as better")
    remarks += _without_inside(found)
    if len(found.encodings) == 1:
        remarks.append("one encoding alone: intervals, but nothing to compare")
    for lines, text in (
        (twice, "rows that stand twice count once"),
        (empty, "empty scores are taken as out of range"),
        (nan, "scores that are no number (NaN) are taken as diverged runs"),
    ):
        if lines:
            where = ", ".join(map(str, lines[:SHOWN])) + (", ..." if len(lines) > SHOWN else "")
            remarks.append(f"{text}: {len(lines)} (line{'s' * (len(lines) > 1)} {where})")
    remarks.append("a file does not tell how learning rates were chosen, nor whether training showed test problems")
    return remarks


def _without_inside(found: Observations) -> list[str]:
    inside = np.bincount(found.task[found.split == ID], minlength=len(found.tasks))
    names = [brief(found.tasks[task].name) for task in np.flatnonzero(inside == 0).tolist()]
    if len(names) > SHOWN:
        some = ", ".join(names[:SHOWN])
        return [f"{len(names):,} tasks have no rows in distribution (split id), so no gate to pass: {some}, ..."]
    return [f"{name} has no rows in distribution (split id): there is no gate to pass" for name in names]


def _scored(found: Observations) -> Bool[np.ndarray, " tasks"]:
    """Whether each task has a bar."""
    return np.array([facts.bar is not None for facts in found.tasks], dtype=bool)
