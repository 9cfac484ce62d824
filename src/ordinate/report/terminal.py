"""An analysis as text for a terminal: a table with a row per encoding, the verdict in words, and the alarms."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ordinate.statistics.alarms import alarm_lines
from ordinate.statistics.phrases import (
    at_headline,
    cell_words,
    learned_words,
    mean_and_interval,
    range_words,
    reach_words,
    seeds,
    steps_words,
)
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
    inside = next((r for r in reversed(task.ranges) if r.split == "id"), None)
    inside = None if inside is task.shown else inside
    columns = ["encoding", *(["learned"] if task.learned else []), *(["steps to learn"] if task.steps else [])]
    columns += [*(["in distribution"] if inside else []), range_words(task)]
    columns += [*(["reach"] if task.reach else []), *(["there"] if task.bar is not None else [])]
    found = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        found.add_column(name, no_wrap=name in ("encoding", "learned", "reach"))
    for encoding in task.encodings[:MOST_ENCODINGS]:
        cell = task.shown.cell(encoding)
        row: list[Text | str] = [encoding]
        row += [learned_words(task.learned[encoding], "/")] if task.learned else []
        row += [steps_words(task.steps.get(encoding), ">")] if task.steps else []
        if inside:
            mean = inside.cell(encoding).interval
            row.append(f"{mean.mean:.3f}" if mean else "-")
        row.append(mean_and_interval(cell.interval) or "-")
        row += [reach_words(task.reach[encoding])] if task.reach else []
        if task.bar is not None:
            row.append(Text(cell_words(cell), _STYLE.get(cell.word, "") if cell.word else ""))
        found.add_row(*row)
    return found
