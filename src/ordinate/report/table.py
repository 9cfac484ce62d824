"""A table, and how it is written in Markdown, CSV, LaTeX and JSON."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from itertools import islice
from typing import Any, overload

import orjson

Value = str | int | float | bool | None

_SLOW = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_LINES = 4  # levels of a JSON document that have one entry a line
_FEW, _MANY = 20, 500  # entries that may share a line in the deepest of these; those that are written at once
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are their wide forms


@dataclass(frozen=True)
class Column:
    """`name` stands in files, `title` is for people, `form` says how numbers are shown to them."""

    name: str
    title: str
    form: str = ""


Row = tuple[Value, ...]


class Rows(Sequence[Row]):
    """Rows that are made when somebody looks at them: there may be a million."""

    def __init__(self, sources: Sequence[Any], make: Callable[[Any], Row]) -> None:
        self.sources, self.make = sources, make

    def __len__(self) -> int:
        return len(self.sources)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> "Rows": ...
    def __getitem__(self, index: int | slice) -> "Row | Rows":
        chosen = self.sources[index]
        return Rows(chosen, self.make) if isinstance(index, slice) else self.make(chosen)


@dataclass(frozen=True)
class Table:
    """Rows under columns. Values keep their full precision: rounding is for those who show them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    bold: frozenset[tuple[int, int]] = frozenset()  # row and column of values that the statistics single out
    note: str = ""


def first_rows(table: Table, most: int) -> Table:
    """The same with so many rows at most."""
    return table if len(table.rows) <= most else replace(table, rows=table.rows[:most])


def shown(value: Value, column: Column) -> str:
    """A value as people read it; nothing for what is not there."""
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
    numbers = [is_number(index, table) for index in range(len(table.columns))]
    lines = [
        "| " + " | ".join(markdown_text(column.title) for column in table.columns) + " |",
        "|" + "|".join("---:" if number else "---" for number in numbers) + "|",
    ]
    for index, row in enumerate(table.rows):
        cells = []
        for at, (value, column) in enumerate(zip(row, table.columns, strict=True)):
            text = markdown_text(shown(value, column))
            cells.append(f"**{text}**" if (index, at) in table.bold and text else text)
        lines.append("| " + " | ".join(cells) + " |")
    note = f"\n{markdown_text(table.note)}\n" if table.note else ""
    return f"## {markdown_text(table.title)}\n\n" + "\n".join(lines) + f"\n{note}"


def markdown_text(text: str) -> str:
    """A text that Markdown shows as it is."""
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
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    # A spreadsheet would run a text that begins like this as a formula; the quote makes it text again.
    if value.lstrip().startswith(_FORMULA) or value[:1] in "\t\r\n":
        return value if _reads_as_number(value) or not value else f"'{value}"
    return value


def _reads_as_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) is not None


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "…": r"\ldots{}",
}  # fmt: skip


def latex(table: Table) -> str:
    """A table for booktabs; `\\usepackage[T1]{fontenc}` and `\\usepackage{booktabs}` are all it needs."""
    kinds = "".join("r" if is_number(index, table) else "l" for index in range(len(table.columns)))
    lines = [" & ".join(_latex(column.title) for column in table.columns)]
    for index, row in enumerate(table.rows):
        cells = []
        for at, (value, column) in enumerate(zip(row, table.columns, strict=True)):
            text = _latex(shown(value, column))
            cells.append(rf"\textbf{{{text}}}" if (index, at) in table.bold and text else text)
        lines.append(" & ".join(cells))
    # After \\ a bracket or a star would be read as its option.
    head, *body = [("{}" + line if line.startswith(("[", "*")) else line) + r" \\" for line in lines]
    caption = _latex(table.title + (f". {table.note}" if table.note else ""))
    rule = [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
    return "\n".join([*rule, head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


class Lines(Iterator[dict[str, Any]]):
    """Objects of a JSON document that have a line each, wherever they stand: there may be a million of them."""

    def __init__(self, made: Iterable[dict[str, Any]]) -> None:
        self.made = iter(made)

    def __next__(self) -> dict[str, Any]:
        return next(self.made)


@dataclass(frozen=True)
class Entries:
    """An object of a JSON document whose entries come one by one, because all of them would be too much to hold."""

    made: Iterable[tuple[str, Any]]

    def items(self) -> Iterable[tuple[str, Any]]:
        return self.made


def plain(table: Table) -> dict[str, Any]:
    """A table as data for JSON, one object per row."""
    names = [column.name for column in table.columns]
    return {
        "name": table.name,
        "title": table.title,
        "rows": Lines(dict(zip(names, row, strict=True)) for row in table.rows),
    }


def jsonable(value: Any) -> Any:
    """The same, where JSON has no word for infinities and NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [jsonable(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return jsonable(unfolded(value))
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def unfolded(data: Any) -> dict[str, Any]:
    """The fields of a data class, as they are; `fields` would go through them anew for each of a million."""
    return {name: getattr(data, name) for name in data.__dataclass_fields__}


def _known(value: Any) -> Any:
    """What the encoder does not know, as something that it does."""
    if isinstance(value, tuple | Iterator):
        return list(value)
    return float(value) if isinstance(value, float) else str(value)


def as_json(content: Any) -> str:
    """One document."""
    return "".join(json_pieces(content)) + "\n"


def json_pieces(content: Any, depth: int = 0) -> Iterator[str]:
    """One document in pieces, so that one of a gigabyte need not be held: objects and lists down to a depth have
    one entry a line, and what is deeper, or short, is one piece. Data classes and iterators are taken as they come."""
    if is_dataclass(content) and not isinstance(content, type | Entries):
        content = unfolded(content)
    if depth >= _LINES or _short(content, depth):
        yield _piece(content)
    elif isinstance(content, dict | Entries):
        yield from _entries(((f"{json.dumps(str(key))}: ", value) for key, value in content.items()), "{}", depth)
    elif isinstance(content, Lines):
        yield from _together(content, depth)
    else:
        yield from _entries((("", value) for value in content), "[]", depth)


def _short(content: Any, depth: int) -> bool:
    """Whether it stands on one line, where many such would."""
    if isinstance(content, dict | list | tuple):
        return depth + 1 >= _LINES and len(content) <= _FEW
    return not isinstance(content, Entries | Iterator)


def _piece(content: Any) -> str:
    """On one line, in letters that every terminal has. What orjson cannot do takes six times as long."""
    try:
        line = orjson.dumps(content, _known, orjson.OPT_NON_STR_KEYS)
    except TypeError:  # a number of more than 64 bits, or half a letter
        return _SLOW.encode(jsonable(content))
    return line.decode() if line.isascii() else _SLOW.encode(jsonable(content))


def _entries(entries: Iterator[tuple[str, Any]], ends: str, depth: int) -> Iterator[str]:
    empty, margin = True, "\n" + " " * (depth + 1)
    for key, value in entries:
        yield f"{ends[0] if empty else ','}{margin}{key}"
        yield from json_pieces(value, depth + 1)
        empty = False
    yield ends if empty else "\n" + " " * depth + ends[1]


def _together(content: Lines, depth: int) -> Iterator[str]:
    """A list with one entry a line, many at a time: a call for each of a million would take longer than writing it."""
    empty, margin = True, "\n" + " " * (depth + 1)
    while chunk := list(islice(content, _MANY)):
        text = _piece(chunk)[1:-1]
        if text.count("},{") == len(chunk) - 1:
            text = text.replace("},{", f"}},{margin}{{")
        else:  # within the objects too, perhaps in a name
            text = f",{margin}".join(map(_piece, chunk))
        yield f"{'[' if empty else ','}{margin}{text}"
        empty = False
    yield "[]" if empty else "\n" + " " * depth + "]"
