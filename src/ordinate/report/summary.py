"""The summary of a task, one row per encoding: one list of columns, which the terminal, the tables in Markdown, CSV
and LaTeX, the HTML report, the app and `train` show. A new column is one entry of COLUMNS."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ordinate.report.table import Column, Table, Value, shown
from ordinate.statistics import phrases
from ordinate.statistics.gap import score_gap, share_kept
from ordinate.statistics.phrases import range_title
from ordinate.statistics.types import Range, TaskAnalysis


@dataclass(frozen=True)
class SummaryColumn:
    """`name` is the header in files, `title` the header for people. `value` is what the column is sorted by."""

    name: str
    title: str
    value: Callable[[TaskAnalysis, str], Value]
    text: Callable[[TaskAnalysis, str], str] | None = None  # none: the value, in its form
    help: str = ""
    applies: Callable[[TaskAnalysis], bool] = lambda task: True
    form: str = ""
    range: Range | None = None  # whose scores it shows

    @property
    def column(self) -> Column:
        return Column(self.name, self.title, self.form)

    def shown(self, task: TaskAnalysis, encoding: str) -> str:
        """The cell as text; empty where there is nothing to report."""
        return shown(self.value(task, encoding), self.column) if self.text is None else self.text(task, encoding)

    def cell(self, task: TaskAnalysis, encoding: str) -> Value:
        """The cell in a table: text, or a number with every digit."""
        return self.value(task, encoding) if self.text is None else self.text(task, encoding) or None


def _share(task: TaskAnalysis, encoding: str) -> float | None:
    learned, of = task.learned[encoding]
    return learned / of if of else None


def _median_steps(task: TaskAnalysis, encoding: str) -> float | None:
    steps = task.steps.get(encoding)
    return steps.median if steps is not None and steps.seeds else None


COLUMNS = (
    SummaryColumn("encoding", "encoding", lambda task, encoding: encoding),
    SummaryColumn(
        "verdict", "verdict", lambda task, encoding: phrases.cell_words(task.shown.cell(encoding)),
        applies=lambda task: task.bar is not None,
    ),
    SummaryColumn(
        "learned", "learned", _share, lambda task, encoding: phrases.learned_words(task.learned[encoding]),
        "seeds whose final score in distribution is at the bar, with the exact 95 % interval of their rate; others are "
        "not ranked",
        applies=lambda task: bool(task.learned),
    ),
    SummaryColumn(
        "steps", "steps to learn", _median_steps,
        lambda task, encoding: phrases.steps_words(task.steps.get(encoding), ">"),
        "the median step at which seeds that learned the task reached the bar; >: not within so many",
        applies=lambda task: bool(task.steps),
    ),
    SummaryColumn(
        "reach", "reach", lambda task, encoding: task.reach[encoding].median,
        lambda task, encoding: phrases.reach_words(task.reach[encoding]),
        "the length at which the score falls below the bar, interpolated, in multiples of the longest trained length: "
        "the median over seeds with its 95 % interval (below six seeds, their range); 4x+: at least 4x",
        applies=lambda task: bool(task.reach),
    ),
    SummaryColumn(
        "gap", "gap", score_gap, form="z.3f",
        help="generalization gap, what the score loses from in distribution to the headline range",
        applies=lambda task: task.inside is not None and task.inside is not task.shown,
    ),
    SummaryColumn(
        "kept", "kept", lambda task, encoding: share_kept(task, encoding, task.shown), form=".0%",
        help="the share of the score above chance that is left on the headline range, where both scores are above the "
        "floor, ranked or not",
        applies=lambda task: bool(task.learned) and task.inside is not task.shown,
    ),
    SummaryColumn(
        "loss_gap", "loss gap", lambda task, encoding: task.loss_gap.get(encoding), form="z.3f",
        help="the same for the loss, the loss on the headline range minus that in distribution",
        applies=lambda task: bool(task.loss_gap) and task.direction == "higher",
    ),
)  # fmt: skip


def summary_columns(task: TaskAnalysis, ranges: Sequence[Range], *, verdicts: bool = True) -> list[SummaryColumn]:
    """The columns that apply to a task, and one for each of these ranges, with the verdict at each if `verdicts`."""
    return [*(c for c in COLUMNS if c.applies(task)), *(_scores(task, r, verdicts) for r in ranges)]


def shared_columns(tasks: Iterable[TaskAnalysis]) -> list[SummaryColumn]:
    """The columns that apply to any of several tasks, in a table that names tasks and encodings itself."""
    known = list(tasks)
    return [c for c in COLUMNS if c.name != "encoding" and any(c.applies(task) for task in known)]


def main_ranges(task: TaskAnalysis) -> list[Range]:
    """In distribution, and the headline range, where that is another."""
    return [task.shown] if task.inside is None or task.inside is task.shown else [task.inside, task.shown]


def _scores(task: TaskAnalysis, r: Range, verdicts: bool) -> SummaryColumn:
    def mean(task: TaskAnalysis, encoding: str) -> float | None:
        return interval.mean if (interval := r.cell(encoding).interval) else None

    def text(task: TaskAnalysis, encoding: str) -> str:
        """`solves 0.998 [0.995, 1.000]`, `did not fit (0.88) 0.743, not ranked`."""
        cell = r.cell(encoding)
        parts = [phrases.mean_and_interval(cell.interval), phrases.unranked_words(cell)]
        return " ".join(part for part in ([phrases.cell_words(cell), *parts] if verdicts else parts) if part)

    return SummaryColumn(r.name, range_title(task, r), mean, text, range=r)


def by_score(task: TaskAnalysis) -> list[str]:
    """The encodings in the order of the rows: by the score that stands there, ranked or not; without one, last."""
    sign = -1.0 if task.direction == "lower" else 1.0

    def key(encoding: str) -> float:
        cell = task.shown.cell(encoding)
        mean = cell.interval.mean if cell.interval else cell.unranked
        return math.inf if mean is None else -sign * mean

    return sorted(task.encodings, key=key)


def winner(task: TaskAnalysis) -> str | None:
    """The encoding that the tests set above each of the others on the headline range."""
    return task.verdict.use[0] if len(task.verdict.use) == 1 else None


def summary_table(task: TaskAnalysis, metric: str, ranges: Sequence[Range], *, verdicts: bool = True) -> Table:
    """The summary as a table; bold: the winner's score on the headline range."""
    columns = summary_columns(task, ranges, verdicts=verdicts)
    order = by_score(task)
    rows = tuple(tuple(column.cell(task, encoding) for column in columns) for encoding in order)
    best = [row for row, encoding in enumerate(order) if encoding == winner(task)]
    bold = frozenset((row, at) for row in best for at, column in enumerate(columns) if column.range is task.shown)
    title, headers = f"{task.task}: {metric}", tuple(column.column for column in columns)
    return Table(summary_name(task), title, headers, rows, bold, summary_note(task, metric))


def summary_name(task: TaskAnalysis) -> str:
    return f"summary {task.task}"


def summary_note(task: TaskAnalysis, metric: str) -> str:
    """How to read the columns."""
    parts = [f"Mean {metric} over the seeds that count, with its 95 % interval."]
    if task.learned:
        parts.append(f"Bar: {task.bar:g}.")
    parts += [f"{phrases.capital(c.title)}: {c.help}." for c in COLUMNS if c.help and c.applies(task)]
    if task.bar is None and task.direction == "lower":
        parts.append("Lower is better.")
    bold = "bold: above every other encoding that can go there, by score or by the seeds that learned the task."
    none = "no single encoding is shown to be above all others."
    return " ".join([*parts, f"Pairs are tested {phrases.endpoints_words(task)};", bold if winner(task) else none])
