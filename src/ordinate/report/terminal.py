"""An analysis as text for a terminal: a table with a row per encoding, the verdict in words, and the alarms."""

import math
from collections.abc import Mapping

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ordinate.report.summary import SummaryColumn, by_score, main_ranges, summary_columns
from ordinate.statistics.alarms import alarm_lines
from ordinate.statistics.phrases import at_headline, listed, seeds
from ordinate.statistics.sentences import sentences
from ordinate.statistics.types import Analysis, TaskAnalysis
from ordinate.statistics.words import Word

MOST_TASKS = 40  # that a terminal shows
MOST_ENCODINGS = 60  # of a task
SPACE = 2  # between columns
# Columns that are left out where they do not fit, the most important first; "id" is that of scores in distribution.
LAST = ("learned", "reach", "verdict", "id", "steps", "gap", "kept", "loss_gap")
ELSEWHERE = "all of them are in  --format csv  and  --json"

_STYLE = {Word.SOLVES: "green", Word.PARTIAL: "yellow", Word.FITS: "yellow"}


def show(analysis: Analysis, console: Console, why: Mapping[str, str] | None = None) -> None:
    """Task by task; what limits all of them comes last. why: what probes say of the verdict on a task."""
    for task in analysis.tasks[:MOST_TASKS]:
        title = Text.assemble("\n", (task.task, "bold"), f", {seeds(len(task.seeds))}  ")
        if analysis.preliminary:
            title.append("preliminary  ", "bold magenta")
        title.append(f"({_facts(task)})", "dim")
        console.print(title)
        console.print(table(task, console.width))
        if narrow := left_out(task, console.width):
            console.print(Text(narrow, "dim"))
        if len(task.encodings) > MOST_ENCODINGS:
            left = f"{len(task.encodings) - MOST_ENCODINGS:,} more encodings are not shown here; {ELSEWHERE}"
            console.print(Text(left, "dim"))
        for number, line in enumerate(sentences(analysis, task)):
            console.print(Text(line, "bold" if number == 0 else ""))
        if why and task.task in why:
            console.print(Text.assemble(("Why: ", "bold"), why[task.task]))
        for kind, words in alarm_lines(task.alarms):
            console.print(Text.assemble(("! ", "bold red"), (f"{kind}: ", "bold"), words))
    console.print()
    if len(analysis.tasks) > MOST_TASKS:
        console.print(f"{len(analysis.tasks) - MOST_TASKS:,} more tasks are not shown here; {ELSEWHERE}")
    for reason in analysis.preliminary:
        console.print(Text.assemble(("Preliminary: ", "bold magenta"), f"{reason}."))
    for limit in analysis.limits:
        console.print(Text.assemble(("Limit: ", "bold"), limit))
    for family, ranks in analysis.families.items():
        which = f"all {ranks.blocks} tasks" if family in ("tasks", "all tasks") else f"{ranks.blocks} {family} tasks"
        order = ", ".join(f"{name} {value:.2f}" for name, value in [*ranks.average.items()][:MOST_ENCODINGS])
        order += ", ..." * (len(ranks.average) > MOST_ENCODINGS)
        console.print(f"Average ranks over {which}: {order}")


def _facts(task: TaskAnalysis) -> str:
    """What the numbers are to be seen against: `trained to 32, floor 0.06 at OOD length 64 (2x)`."""
    floor = "floor" if task.bar is not None else "best baseline"
    trained = [f"trained to {task.trained}"] if task.trained else []
    known = [f"{floor} {task.shown.floor:.2f} {at_headline(task)}"] if task.shown.floor else ["no chance level given"]
    return ", ".join([*trained, *known])


def table(task: TaskAnalysis, width: int | None = None) -> Table:
    """One row per encoding, in the order of scores on the headline range; all other ranges are in the report.

    No cell is broken: what does not fit into `width` is left out, beginning with the last of LAST. Titles may be.
    """
    summary = Table(box=None, pad_edge=False, header_style="bold", padding=(0, SPACE, 0, 0))
    widths = _widths(task, width)
    columns = [column for column in _columns(task) if column.name in widths]
    for column in columns:
        summary.add_column(column.title, width=widths[column.name])
    for encoding in by_score(task)[:MOST_ENCODINGS]:
        word = task.shown.cell(encoding).word
        style = _STYLE.get(word, "") if word else ""
        cells = [Text(_shown(c, task, encoding), style if c.name == "verdict" else "") for c in columns]
        summary.add_row(*cells)
    return summary


def left_out(task: TaskAnalysis, width: int) -> str:
    """Which columns a terminal of this width has no room for, and where they are; empty if it has."""
    widths = _widths(task, width)
    titles = [column.title for column in _columns(task) if column.name not in widths]
    return f"No room for {listed(titles)}: widen the terminal, or give  --format md" if titles else ""


def _columns(task: TaskAnalysis) -> list[SummaryColumn]:
    return summary_columns(task, main_ranges(task), verdicts=False)


def _widths(task: TaskAnalysis, width: int | None) -> dict[str, int]:
    """Of the columns that fit, by name: as wide as their cells, and as their titles while there is room."""
    columns = {column.name: column for column in _columns(task)}
    cells = {name: _cells_width(column, task) for name, column in columns.items()}
    inside = [name for name, column in columns.items() if column.range not in (None, task.shown)]
    last = [name for least in LAST for name in (inside if least == "id" else [least]) if name in columns]
    widths = dict[str, int]()
    for name in [*(name for name in columns if name not in last), *last]:
        if name not in last or _room(widths, width) >= cells[name] + SPACE:
            widths[name] = cells[name]
    for name in (name for name in columns if name in widths):
        if widths[name] + _room(widths, width) >= len(columns[name].title):
            widths[name] = max(widths[name], len(columns[name].title))
    return widths


def _room(widths: Mapping[str, int], width: int | None) -> float:
    """What a terminal of this width has left."""
    return math.inf if width is None else width - sum(own + SPACE for own in widths.values()) + SPACE


def _cells_width(column: SummaryColumn, task: TaskAnalysis) -> int:
    """Of the longest cell, and of the longest word of the title."""
    cells = [_shown(column, task, encoding) for encoding in by_score(task)[:MOST_ENCODINGS]]
    return max(cell_len(text) for text in (*cells, *column.title.split()))


def _shown(column: SummaryColumn, task: TaskAnalysis, encoding: str) -> str:
    """A terminal has room for one interval: that on the headline range."""
    mean = column.value(task, encoding)
    if column.range in (None, task.shown) or not isinstance(mean, float):
        return column.shown(task, encoding) or "-"
    return f"{mean:.3f}"
