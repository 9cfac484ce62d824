"""An analysis as text for a terminal: a table with a row per encoding, the verdict in words, and the alarms."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ordinate.report.summary import SummaryColumn, main_ranges, summary_columns
from ordinate.statistics.alarms import alarm_lines
from ordinate.statistics.phrases import at_headline, seeds
from ordinate.statistics.sentences import sentences
from ordinate.statistics.types import Analysis, TaskAnalysis
from ordinate.statistics.words import Word

MOST_TASKS = 40  # that a terminal shows
MOST_ENCODINGS = 60  # of a task
ELSEWHERE = "all of them are in  --format csv  and  --json"

_STYLE = {Word.SOLVES: "green", Word.PARTIAL: "yellow", Word.FITS: "yellow"}


def show(analysis: Analysis, console: Console) -> None:
    """Task by task; what limits all of them comes last."""
    for task in analysis.tasks[:MOST_TASKS]:
        title = Text.assemble("\n", (task.task, "bold"), f", {seeds(len(task.seeds))}  ")
        if analysis.preliminary:
            title.append("preliminary  ", "bold magenta")
        title.append(f"({_facts(task)})", "dim")
        console.print(title)
        console.print(table(task))
        if len(task.encodings) > MOST_ENCODINGS:
            left = f"{len(task.encodings) - MOST_ENCODINGS:,} more encodings are not shown here; {ELSEWHERE}"
            console.print(Text(left, "dim"))
        for number, line in enumerate(sentences(analysis, task)):
            console.print(Text(line, "bold" if number == 0 else ""))
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
    return ", ".join([*trained, f"{floor} {task.shown.floor:.2f} {at_headline(task)}"])


def table(task: TaskAnalysis) -> Table:
    """One row per encoding, best first on the headline range; all other ranges are in the report."""
    columns = summary_columns(task, main_ranges(task), verdicts=False)
    summary = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        summary.add_column(column.title, no_wrap=column.name in ("encoding", "learned", "reach"))
    for encoding in task.encodings[:MOST_ENCODINGS]:
        word = task.shown.cell(encoding).word
        style = _STYLE.get(word, "") if word else ""
        cells = [Text(_shown(c, task, encoding) or "-", style if c.name == "verdict" else "") for c in columns]
        summary.add_row(*cells)
    return summary


def _shown(column: SummaryColumn, task: TaskAnalysis, encoding: str) -> str:
    """A terminal has room for one interval: that on the headline range."""
    mean = column.value(task, encoding)
    if column.range in (None, task.shown) or not isinstance(mean, float):
        return column.shown(task, encoding)
    return f"{mean:.3f}"
