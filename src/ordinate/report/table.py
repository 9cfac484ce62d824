"""A table, and how it is written as Markdown and CSV; `latex` writes it for a paper."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

Value = str | int | float | bool | None

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are their wide forms
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Column:
    """`name` is the header in files, `title` the header for people, `form` the format of numbers for people."""

    name: str
    title: str
    form: str = ""


TableRow = tuple[Value, ...]


class LazyRows(Sequence[TableRow]):
    """Rows that are made when they are read: there may be a million."""

    def __init__(self, sources: Sequence[Any], make: Callable[[Any], TableRow]) -> None:
        self.sources, self.make = sources, make

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: Any) -> Any:
        chosen = self.sources[index]
        return LazyRows(chosen, self.make) if isinstance(index, slice) else self.make(chosen)


@dataclass(frozen=True)
class Table:
    """Rows under columns. Values keep their full precision; the formats round them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[TableRow]
    bold: frozenset[tuple[int, int]] = frozenset()  # row and column of the values to emphasize
    note: str = ""
    # columns that name a row
    keys: tuple[str, ...] = (
        "comparison",
        "claim",
        "task",
        "range",
        "encoding",
        "measure",
        "better",
        "worse",
        "setting",
    )
    printed: tuple[str, ...] = ()  # the columns that a paper has room for; empty: all

    def texts(self, escape: Callable[[str], str], bold: str) -> Iterator[list[str]]:
        """The rows as text for people; `bold` is a format for the values to emphasize."""
        for index, row in enumerate(self.rows):
            cells = [escape(shown(value, column)) for value, column in zip(row, self.columns, strict=True)]
            yield [bold.format(text) if (index, at) in self.bold and text else text for at, text in enumerate(cells)]


def first_rows(table: Table, most: int) -> Table:
    return table if len(table.rows) <= most else replace(table, rows=table.rows[:most])


def shown(value: Value, column: Column) -> str:
    """A value as text for people; empty for a missing one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, str):
        return value
    # + 0: no minus before a zero
    return format(value + 0, column.form) if column.form and math.isfinite(value) else str(value)


def is_number(column: int, table: Table) -> bool:
    """Whether a column holds numbers and nothing else."""
    values = [row[column] for row in table.rows if row[column] is not None]
    return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def markdown(table: Table) -> str:
    """A pipe table under its title."""
    rows = [[markdown_text(column.title) for column in table.columns], *table.texts(markdown_text, "**{}**")]
    head, *body = [f"| {' | '.join(cells)} |" for cells in rows]
    rule = "|" + "|".join("---:" if is_number(at, table) else "---" for at in range(len(table.columns))) + "|"
    note = f"\n{markdown_text(table.note)}\n" if table.note else ""
    return f"## {markdown_text(table.title)}\n\n" + "\n".join([head, rule, *body]) + f"\n{note}"


def markdown_text(text: str) -> str:
    """Text with the special characters of Markdown escaped."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~$!])", r"\\\1", text)


def comma_separated(table: Table) -> str:
    """CSV with every digit, safe to open in a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_field(column.name) for column in table.columns])
    writer.writerows([csv_field(value) for value in row] for row in table.rows)
    return out.getvalue()


def csv_field(value: Value) -> str:
    """A value in a file that a spreadsheet may open."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value).lower()
    # A spreadsheet would run a text that begins like this as a formula; the quote makes it text again.
    if value.lstrip().startswith(_FORMULA) or value[:1] in "\t\r\n":
        return value if _NUMBER.fullmatch(value) or not value else f"'{value}"
    return value
