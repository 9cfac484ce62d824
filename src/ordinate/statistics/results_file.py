"""Anyone's results from a CSV file, checked line by line before any statistics."""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO, TextIOWrapper
from pathlib import Path

from ordinate.core.errors import InputError, nearest
from ordinate.statistics.observation import SPLIT_NAMES, Observation

REQUIRED = ("encoding", "task", "seed", "length", "split", "score")
OPTIONAL = ("chance", "n", "bar", "direction")
SPLITS = tuple(SPLIT_NAMES)
SHOWN = 5  # line numbers that a sentence names
NAMED = 20  # columns that a sentence names
LONGEST_HEADER = 20_000  # letters
LARGEST = 2**53  # whole numbers that a float holds exactly
MOST_SEQUENCES = 10_000_000


@dataclass
class Reading:
    """What was read, and what the file does not tell."""

    observations: list[Observation] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)


def read_results(path: Path) -> Reading:
    """All rows of a file, or one sentence on the first that cannot be used."""
    try:
        with open(path, "rb") as file:
            return parse_results(file, str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def parse_results(content: BytesIO | BufferedReader, name: str, most: int | None = None) -> Reading:
    """The same of what need not be a file; `name` is what sentences call it, `most` the number of rows allowed."""
    file = TextIOWrapper(content, encoding="utf-8-sig", newline="")
    try:
        start = file.readline(LONGEST_HEADER + 1)
        if "\0" in start:
            raise InputError(f"{name} is no text: it begins with bytes that no CSV file has")
        if len(start) > LONGEST_HEADER:
            raise InputError(f"{name} is no table: its first line, with the column names, has no end in sight")
        file.seek(0)
        delimiter = max(",;\t", key=start.count)
        return _File(name, csv.DictReader(file, delimiter=delimiter, strict=True), most).read()
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except csv.Error as error:
        raise InputError(f"{name} is not CSV: {error}") from error
    finally:
        file.detach()  # `content` belongs to the caller


class _File:
    def __init__(self, path: str, rows: "csv.DictReader[str]", most: int | None) -> None:
        self.path, self.rows, self.most, self.found = path, rows, most, Reading()
        self.columns = list(rows.fieldnames or ())
        self.seen: dict[tuple[str, str, int, str, int], tuple[Observation, int]] = {}
        self.chances: dict[tuple[str, str, int], float] = {}
        self.twice: list[int] = []
        self.empty: list[int] = []
        self.nan: list[int] = []
        self.fixed: dict[str, tuple[float | None, str]] = {}  # task: bar and direction

    def read(self) -> Reading:
        self._check_columns()
        found = self.found
        found.observations = list(self._observations())
        if not found.observations:
            raise InputError(f"{self.path} has no rows below its header")
        self._check_scores()
        self._tell()
        return found

    def _check_columns(self) -> None:
        missing = [name for name in REQUIRED if name not in self.columns]
        if missing:
            has = _listed(self.columns) or "no columns at all"
            raise InputError(f"{self.path} lacks {', '.join(missing)}: needed are {', '.join(REQUIRED)}; it has {has}")
        double = {name for name in self.columns if self.columns.count(name) > 1}
        if double:
            raise InputError(f"{self.path} has the column {min(double)} twice")
        extra = [name for name in self.columns if name not in REQUIRED + OPTIONAL]
        if extra:
            self.found.limits.append(f"columns that are not read: {_listed(extra)}")

    def _observations(self) -> Iterator[Observation]:
        for row in self.rows:
            line = self.rows.line_num
            if self.most is not None and line > self.most + 1:
                raise InputError(f"{self.path} has more than {self.most:,} rows: split it, or use  ordinate analyze")
            if None in row or None in row.values():
                raise InputError(f"{self.path}, line {line}: not as many fields as the header has")
            item = self._observation(row, line)
            key = (item.task, item.encoding, item.seed, item.split, item.length)
            if key in self.seen:
                before, where = self.seen[key]
                if before != item:
                    raise InputError(
                        f"{self.path}, lines {where} and {line}: two different rows for {item.encoding} on {item.task}"
                        f", seed {item.seed}, {item.split} {item.length}: keep one"
                    )
                self.twice.append(line)
                continue
            if self.chances.setdefault((item.task, item.split, item.length), item.chance) != item.chance:
                raise InputError(
                    f"{self.path}, line {line}: {item.task}, {item.split} {item.length} has another chance than above"
                )
            self.seen[key] = (item, line)
            yield item

    def _observation(self, row: dict[str, str], line: int) -> Observation:
        encoding, task = (self._text(row, name, line) for name in ("encoding", "task"))
        split = self._text(row, "split", line)
        if split not in SPLITS:
            raise InputError(f"{self.path}, line {line}: unknown split {split!r}: {nearest(split, SPLITS)}")
        score, diverged = self._score(row["score"].strip(), line)
        chance = self._number(row, "chance", line) or 0.0
        if not 0 <= chance < 1 and (row.get("direction") or "").strip() != "lower":
            raise InputError(f"{self.path}, line {line}: chance lies between 0 and 1, got {chance:g}")
        n = self._number(row, "n", line)
        direction = (row.get("direction") or "higher").strip() or "higher"
        if direction not in ("higher", "lower"):
            raise InputError(f"{self.path}, line {line}: direction is higher or lower, got {direction!r}")
        bar = self._number(row, "bar", line)
        if direction == "higher":
            bar = 0.95 if bar is None else bar
            if not 0 < bar <= 1:
                raise InputError(f"{self.path}, line {line}: bar lies above 0 and is at most 1, got {bar:g}")
        if self.fixed.setdefault(task, (bar, direction)) != (bar, direction):
            raise InputError(f"{self.path}, line {line}: {task} has another bar or direction than above")
        return Observation(
            task=task, encoding=encoding, seed=self._whole(row, "seed", line), split=split,  # type: ignore[arg-type]
            length=self._whole(row, "length", line), score=score, chance=chance, floor=chance,
            sequences=None if n is None else int(n), bar=None if direction == "lower" else bar,
            direction=direction, diverged=diverged,  # type: ignore[arg-type]
        )  # fmt: skip

    def _score(self, text: str, line: int) -> tuple[float | None, bool]:
        """A number; nothing where an encoding could not go; no number where a run came to none."""
        if not text:
            self.empty.append(line)
            return None, False
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{self.path}, line {line}: score is no number: {text[:40]!r}") from None
        if not math.isfinite(value):
            self.nan.append(line)
            return None, True
        return value, False

    def _text(self, row: dict[str, str], name: str, line: int) -> str:
        text = row[name].strip()
        if not text:
            raise InputError(f"{self.path}, line {line}: {name} is empty")
        return text

    def _whole(self, row: dict[str, str], name: str, line: int) -> int:
        text = self._text(row, name, line)
        try:
            value = int(text)
        except ValueError:
            raise InputError(f"{self.path}, line {line}: {name} must be a whole number, got {text[:40]!r}") from None
        least = 1 if name == "length" else -LARGEST
        if not least <= value <= LARGEST:
            raise InputError(f"{self.path}, line {line}: {name} must lie in {least} to {LARGEST}, got {text[:40]}")
        return value

    def _number(self, row: dict[str, str], name: str, line: int) -> float | None:
        text = (row.get(name) or "").strip()
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        whole = name != "n" or (value.is_integer() and value >= 1)
        if not math.isfinite(value) or not whole:
            kind = "count" if name == "n" else "number"
            raise InputError(f"{self.path}, line {line}: {name} is no {kind}: {text[:40]!r}")
        if name == "n" and value > MOST_SEQUENCES:
            raise InputError(f"{self.path}, line {line}: n is at most {MOST_SEQUENCES} sequences, got {text[:40]}")
        return value

    def _check_scores(self) -> None:
        items = self.found.observations
        if all(o.split == "valid" for o in items):
            raise InputError(f"{self.path}: all rows have split valid, which chooses and never counts: give id or ood")
        large = [o for o in items if o.bar is not None and o.score is not None and not 0 <= o.score <= 1]
        if large:
            raise InputError(
                f"{self.path}: {large[0].task} has the score {large[0].score!r}: write accuracies from 0 to 1 (or "
                "direction=lower for a loss)"
            )
        longest: dict[str, int] = {}
        for o in items:
            if o.split == "id":
                longest[o.task] = max(longest.get(o.task, 0), o.length)
        for o in items:
            if o.split == "ood" and o.length <= longest.get(o.task, 0):
                raise InputError(
                    f"{self.path}: {o.task} has length {o.length} as ood, but {longest[o.task]} as id: what is out of "
                    "distribution by length is longer"
                )

    def _tell(self) -> None:
        limits, items = self.found.limits, self.found.observations
        scored = any(item.bar is not None for item in items)
        if scored and "chance" not in self.columns:
            limits.append("no column chance: it is taken as 0, so nothing can be told to be at chance")
        if scored and "n" not in self.columns:
            limits.append("no column n (sequences per score): the floor has no band of luck around it")
        if scored and "bar" not in self.columns:
            limits.append("no column bar: a task counts as learnt from 0.95 on")
        if "direction" not in self.columns:
            limits.append("no column direction: higher scores are taken as better")
        for task in dict.fromkeys(item.task for item in items):
            if not any(item.task == task and item.split == "id" for item in items):
                limits.append(f"{task} has no rows in distribution (split id): there is no gate to pass")
        if len({item.encoding for item in items}) == 1:
            limits.append("one encoding alone: intervals, but nothing to compare")
        for lines, text in (
            (self.twice, "rows that stand twice count once"),
            (self.empty, "empty scores are taken as out of range"),
            (self.nan, "scores that are no number (NaN) are taken as diverged runs"),
        ):
            if lines:
                where = ", ".join(map(str, lines[:SHOWN])) + (", ..." if len(lines) > SHOWN else "")
                limits.append(f"{text}: {len(lines)} (line{'s' * (len(lines) > 1)} {where})")
        limits.append("a file does not tell how learning rates were chosen, nor whether training showed test problems")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
