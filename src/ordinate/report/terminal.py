"""An analysis as text for a terminal: the table with intervals, the alarms, and the verdict in words."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ordinate.statistics.analysis import Analysis, Cell, Range, TaskAnalysis

WIDE = 4  # ranges that fit beside each other
_STYLE = {"solves": "green", "partial": "yellow", "fits": "yellow"}


def show(analysis: Analysis, console: Console) -> None:
    """Task by task; what limits all of them comes last."""
    for task in analysis.tasks:
        n = len(task.seeds)
        title = Text.assemble("\n", (task.task, "bold"), f", {n} seed{'s' * (n != 1)}  ")
        if analysis.preliminary:
            title.append("preliminary", "bold magenta")
        console.print(title)
        console.print(table(task))
        left_out = len(task.ranges) - len(_shown(task))
        if left_out:
            console.print(Text(f"{left_out} more ranges are in the report and in --json", "dim"))
        for number, line in enumerate(task.verdict):
            console.print(Text(line, "bold" if number == 0 else ""))
        for alarm in task.alarms:
            console.print(Text.assemble(("! ", "bold red"), (f"{alarm.kind}: ", "bold"), alarm.text))
    console.print()
    for reason in analysis.preliminary:
        console.print(Text.assemble(("Preliminary: ", "bold magenta"), f"{reason}."))
    for limit in analysis.limits:
        console.print(Text.assemble(("Limit: ", "bold"), limit))
    for family, ranks in analysis.families.items():
        which = f"all {ranks.blocks} tasks" if family in ("tasks", "all tasks") else f"{ranks.blocks} {family} tasks"
        order = ", ".join(f"{name} {value:.2f}" for name, value in ranks.average.items())
        console.print(f"Average ranks over {which}: {order}")


def table(task: TaskAnalysis) -> Table:
    """One row per encoding, best first on the range that ranks the task."""
    found = Table(box=None, pad_edge=False, header_style="bold")
    found.add_column("encoding", no_wrap=True)
    if task.bar is not None:
        found.add_column("fitted", justify="right", no_wrap=True)
    ranges = _shown(task)
    for r in ranges:
        found.add_column(_heading(r))
    for encoding in task.encodings:
        row: list[Text | str] = [encoding]
        if task.bar is not None:
            good, of = task.fits[encoding]
            row.append(f"{good}/{of}")
        row += [_cell(next(c for c in r.cells if c.encoding == encoding)) for r in ranges]
        found.add_row(*row)
    return found


def _shown(task: TaskAnalysis) -> list[Range]:
    """As many ranges as a terminal has room for: in distribution, the one that ranks the task, and the farthest."""
    if len(task.ranges) <= WIDE:
        return list(task.ranges)
    last = len(task.ranges) - 1
    inside = max((i for i, r in enumerate(task.ranges) if r.split == "id"), default=0)
    return [task.ranges[i] for i in sorted({inside, task.headline, last})]


def _heading(r: Range) -> str:
    return f"{r.name} (floor {r.floor:.2f})"


def _cell(cell: Cell) -> Text:
    """`solves 0.998 [0.995, 1.000]`; the numbers of seeds that may not be reported are not there."""
    shown = cell.interval is not None and not cell.word.startswith("did not fit")
    style = _STYLE.get(cell.word, "dim" if cell.interval is None else "")
    text = Text(cell.word + " " * bool(shown and cell.word), style)
    if shown and cell.interval is not None:
        i = cell.interval
        text.append(f"{i.mean:.3f} ", "default")
        if i.low is not None and i.high is not None:
            text.append(f"[{i.low:.3f}, {i.high:.3f}]", "dim")
    return text
