"""Tables for a paper: columns that fit on a page, rows that fit on it, the rest in further tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ordinate.report.table import Table, is_number

TEXT_WIDTH = 345.0  # points: that of LaTeX's article at 10 points, the narrowest of the usual classes with one column
TEXT_HEIGHT_ROWS = 40  # of a table in \footnotesize, with room for its caption
LETTER = 4.4  # points: a letter of text, or a digit, at 8 points on average, with some to spare; a test measures them
SEPARATION = 4.0  # points on either side of a column
WIDEST = 24  # letters of a column; longer texts wrap

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "…": r"\ldots{}", "▲": "+", "▼": "-", "·": ".",
}  # fmt: skip


def latex(table: Table) -> str:
    """A table for booktabs; `\\usepackage[T1]{fontenc}` and `\\usepackage{booktabs}` are all it needs.

    Columns with one value are told in the caption; of many columns only those that the table names are printed. What is
    wider or longer than a page becomes several tables, each with the columns that name its rows.
    """
    rows, plain = list(table.texts(_escaped, r"\textbf{{{}}}")), list(table.texts(str, "{}"))
    layout = [_PrintedColumn.of(table, at, [row[at] for row in plain]) for at in range(len(table.columns))]
    keys, parts, constant = _parts(table, layout)
    chunks = [rows[start : start + TEXT_HEIGHT_ROWS] for start in range(0, len(rows), TEXT_HEIGHT_ROWS)] or [[]]
    count = len(parts) * len(chunks)
    written = []
    for number, (chunk, part) in enumerate(product(chunks, parts), start=1):
        title = table.title + (f" ({number} of {count})" if count > 1 else "")
        about = [title, *constant, table.note if number == count else ""]
        caption = ". ".join(text.rstrip(".") for text in about if text)
        written.append(_tabular([layout[at] for at in (*keys, *part)], chunk, caption))
    return "\n".join(written)


@dataclass(frozen=True)
class _PrintedColumn:
    """How a column is set."""

    at: int
    title: tuple[str, ...]  # in lines
    letters: int  # of its longest line
    kind: str  # for tabular
    only: str | None  # the text that all rows share

    @classmethod
    def of(cls, table: Table, at: int, texts: Sequence[str]) -> "_PrintedColumn":
        longest, title = max(map(len, texts), default=0), _title_lines(table.columns[at].title)
        letters = max(min(longest, WIDEST), *map(len, title))
        kind = rf"p{{{math.floor(letters * LETTER)}pt}}" if longest > WIDEST else "r" if is_number(at, table) else "l"
        alike = len(texts) > 1 and len(table.columns) > 2 and len(set(texts)) == 1
        return cls(at, title, letters, kind, texts[0] if alike else None)

    @property
    def points(self) -> float:
        return self.letters * LETTER + 2 * SEPARATION


def _parts(table: Table, layout: Sequence[_PrintedColumn]) -> tuple[list[int], list[list[int]], list[str]]:
    """The columns that name a row, the others in parts that fit beside them, and those with one value in words."""
    wanted = [own for own in layout if not table.printed or table.columns[own.at].name in table.printed]
    constant = [f"{table.columns[own.at].title}: {own.only}" for own in wanted if own.only]
    left = [own for own in wanted if own.only is None]
    keys = [own for own in left if table.columns[own.at].name in table.keys] or left[:1]
    room = TEXT_WIDTH - sum(own.points for own in keys)
    parts: list[list[_PrintedColumn]] = [[]]
    for own in (own for own in left if own not in keys):
        if parts[-1] and sum(other.points for other in parts[-1]) + own.points > room:
            parts.append([])
        parts[-1].append(own)
    return [own.at for own in keys], [[own.at for own in part] for part in parts], constant


def _title_lines(title: str, most: int = 12) -> tuple[str, ...]:
    """A title in lines of about so many letters."""
    lines = [""]
    for word in title.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return tuple(lines)


def _tabular(columns: Sequence[_PrintedColumn], rows: Sequence[Sequence[str]], caption: str) -> str:
    kinds, deep = "".join(own.kind for own in columns), max((len(own.title) for own in columns), default=0)
    heads = [[""] * (deep - len(own.title)) + [_escaped(line) for line in own.title] for own in columns]
    lines = [" & ".join(head[level] for head in heads) for level in range(deep)]
    lines += [" & ".join(row[own.at] for own in columns) for row in rows]
    # After \\ a bracket or a star would be read as its option.
    ended = [("{}" + line if line.startswith(("[", "*")) else line) + r" \\" for line in lines]
    return "\n".join([
        r"\begin{table}", r"\centering", r"\footnotesize", rf"\setlength{{\tabcolsep}}{{{SEPARATION:g}pt}}",
        rf"\caption{{{_escaped(caption)}}}", rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *ended[:deep], r"\midrule",
        *ended[deep:], r"\bottomrule", r"\end{tabular}", r"\end{table}", "",
    ])  # fmt: skip


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
