"""Evaluations of language models on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ordinate.core.display import escaped
from ordinate.report.lm_tables import by_context, induction, models, multiple
from ordinate.report.lm_words import comparison, remarks
from ordinate.report.table import Table, is_number, shown
from ordinate.results.lm_evaluation import LanguageModelEvaluation


def print_evaluations(evaluations: Sequence[LanguageModelEvaluation], console: Console) -> None:
    """On about one screen: scores, losses by context, problems, and what they say."""
    console.print(_rich(models(evaluations)))
    contexts = by_context(evaluations)
    if contexts.rows:
        console.print(Text("\nloss (nats per token) by context", "bold"))
        console.print(_rich(contexts if len(evaluations) > 1 else _without(contexts, "model")))
    for found in evaluations:
        if found.problems or found.passkey:
            console.print(Text(f"\nsymbols right of algorithmic problems, {escaped(found.name)}", "bold"))
        if found.problems:
            console.print(_problems(found))
        if found.passkey:
            console.print(_passkey(found))
        if found.induction:
            rows = [(row[1], row[3], row[4], row[8]) for row in induction([found]).rows]
            parts = [
                f"{period:,}: {first:.2f} then {second:.2f}" if isinstance(first, float) and isinstance(second, float)
                else f"{period:,}: n/a"
                for period, first, second, _ in rows
            ]  # fmt: skip
            console.print(Text.assemble(("random tokens twice ", "bold"), f"(nats, by period)  {', '.join(parts)}"))
    console.print()
    for found in evaluations:
        for line in remarks(found):
            name = f"{escaped(found.name)}: " if len(evaluations) > 1 else ""
            console.print(Text.assemble((name, "bold"), line))
    for line in comparison(evaluations):
        console.print(Text(line, "bold"))


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
    """Depth by context."""
    contexts = list(dict.fromkeys(cell.context for cell in found.passkey))
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("passkey at depth")
    for context in contexts:
        table.add_column(multiple(context, found.length), justify="right")
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
