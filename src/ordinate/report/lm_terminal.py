"""Evaluations of language models on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ordinate.core.display import escaped
from ordinate.report.lm_tables import by_context, models, multiple
from ordinate.report.lm_words import comparison, remarks
from ordinate.report.table import Table, is_number, shown
from ordinate.results.lm_evaluation import LanguageModelEvaluation


def print_evaluations(evaluations: Sequence[LanguageModelEvaluation], console: Console) -> None:
    """On about one screen: scores, losses by context, problems, and what they say."""
    one = len(evaluations) == 1
    console.print(_rich(models(evaluations)))
    contexts = by_context(evaluations)
    if contexts.rows:
        console.print(Text("\nloss (nats per token) by context", "bold"))
        console.print(_rich(_without(contexts, "model") if one else contexts))
    if one:
        _print_details(evaluations[0], console)
    console.print()
    for found in evaluations:
        for line in remarks(found) if one else remarks(found)[: 2 if found.remark else 1]:
            console.print(Text.assemble(("" if one else f"{escaped(found.name)}: ", "bold"), line))
    for line in comparison(evaluations):
        console.print(Text(line, "bold"))
    if not one:
        console.print("Problems, passkey and induction: evaluate one alone, or write a page with -o FILE.html")


def _print_details(found: LanguageModelEvaluation, console: Console) -> None:
    """Problems, passkey and induction."""
    if found.problems or found.passkey:
        console.print(Text("\nsymbols right of algorithmic problems", "bold"))
    if found.problems:
        console.print(_problems(found))
    if found.passkey:
        console.print(_passkey(found))
    if found.induction:
        parts = [
            f"{row.period:,}: n/a" if row.first is None or row.second is None
            else f"{row.period:,}: {row.first.per_token:.2f} then {row.second.per_token:.2f}"
            for row in found.induction
        ]  # fmt: skip
        console.print(Text.assemble(("random tokens twice ", "bold"), f"(nats, by period)  {', '.join(parts)}"))


def _problems(found: LanguageModelEvaluation) -> RichTable:
    """A row per kind; a column for each range and number of shots, then the passkey by context."""
    columns = list(dict.fromkeys((row.range, row.shots) for row in found.problems))
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("kind")
    for name, shots in columns:
        table.add_column(f"{name}, {shots}-shot", justify="right")
    table.add_column("chance", justify="right")
    for kind in dict.fromkeys(row.kind for row in found.problems):
        own = {(row.range, row.shots): row for row in found.problems if row.kind == kind}
        cells = [
            "" if row is None else "n/a" if row.reason else f"{row.right / row.symbols:.0%} ({row.exact} exact)"
            for row in (own.get(column) for column in columns)
        ]
        table.add_row(kind, *cells, f"{max(row.chance_symbol for row in own.values()):.0%}")
    return table


def _passkey(found: LanguageModelEvaluation) -> RichTable:
    """Depth by context and filler."""
    columns = list(dict.fromkeys((cell.filler, cell.context) for cell in found.passkey))
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("passkey at depth")
    for filler, context in columns:
        table.add_column(f"{multiple(context, found.length)} {filler}", justify="right")
    for depth in dict.fromkeys(cell.depth for cell in found.passkey):
        cells = [cell for cell in found.passkey if cell.depth == depth]
        table.add_row(f"{depth:g}", *("n/a" if c.reason else f"{c.right / c.symbols:.0%}" for c in cells))
    return table


def _without(table: Table, name: str) -> Table:
    at = next(index for index, column in enumerate(table.columns) if column.name == name)
    columns = (*table.columns[:at], *table.columns[at + 1 :])
    return Table(table.name, table.title, columns, [(*row[:at], *row[at + 1 :]) for row in table.rows])


def _rich(table: Table) -> RichTable:
    made = RichTable(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(table.columns):
        text = column.name in table.keys or column.name in ("encoding", "protocol", "reach")
        made.add_column(column.title, justify="left" if text and not is_number(at, table) else "right", no_wrap=True)
    for row in table.rows:
        made.add_row(*(escaped(shown(value, column)) for value, column in zip(row, table.columns, strict=True)))
    return made
