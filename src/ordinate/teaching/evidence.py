"""What the stored runs that come with the program say, for a lesson: a table, a picture, and how to run it again."""

from collections.abc import Sequence
from functools import cache

from ordinate.core.errors import InputError, nearest
from ordinate.report.colors import styles
from ordinate.report.curves import by_length
from ordinate.report.table import Column, Table
from ordinate.results.comparison import Comparison
from ordinate.statistics.phrases import (
    cell_words,
    learned_words,
    mean_and_interval,
    range_title,
    reach_words,
    seeds,
    unranked_words,
)
from ordinate.statistics.sentences import sentences
from ordinate.statistics.types import Cell, TaskAnalysis
from ordinate.store.examples import open_examples
from ordinate.studies import study_file
from ordinate.studies.study_outcome import PartOutcome, part_outcome
from ordinate.teaching.lesson import Shown


@cache
def outcome(study: str, part: str) -> PartOutcome:
    """A part of a study, as far as its runs come with the program."""
    loaded = study_file.load(study)
    parts = {own.name: own for own in loaded.parts}
    if part not in parts:
        raise InputError(f"study {study} has no part {part!r}: {nearest(part, parts)}")
    return part_outcome(loaded, parts[part], [open_examples()])


def finished(study: str, part: str) -> Comparison | None:
    """Its comparison; none if it was not run yet."""
    found = outcome(study, part)
    return found.comparison if found.finished else None


def not_run(study: str, part: str) -> Shown:
    """What is said in place of results that are not there yet."""
    return Shown(
        f"**Not run yet:** the part *{part}* of the study `{study}` has no stored results in this version. "
        f"`ordinate study run {study}` trains it, and `ordinate study report {study}` shows what it finds."
    )


def scores(study: str, part: str, encodings: Sequence[str] = (), *, picture: bool = True) -> Shown:
    """The scores of a part by length: verdict, table and curves. `encodings`: those that the table has."""
    comparison = finished(study, part)
    if comparison is None:
        return not_run(study, part)
    task = comparison.analysis.tasks[0]
    drawn = by_length(comparison, task, styles(comparison.analysis.encodings)) if picture else None
    verdict = sentences(comparison.analysis, task)[0]
    return Shown(
        f"{source(study, task)} {verdict}",
        figures=() if drawn is None else (drawn,),
        tables=(score_table(task, encodings),),
    )


def source(study: str, task: TaskAnalysis) -> str:
    """Where the numbers come from, in one sentence."""
    return f"Read from the stored runs of `{study}` ({task.task}, {seeds(len(task.seeds))} per encoding)."


def score_table(task: TaskAnalysis, encodings: Sequence[str] = ()) -> Table:
    """Encodings by how many seeds learned the task, their scores, and how far they hold; best first."""
    inside = task.inside or task.shown
    ranges = [task.shown] if inside is task.shown else [inside, task.shown]
    columns = [Column("encoding", "encoding")]
    columns += [Column("learned", "learned the task")] if task.learned else []
    columns += [Column(own.name, range_title(task, own)) for own in ranges]
    columns += [Column("reach", "holds to")] if task.reach else []
    rows = []
    for name in [own for own in task.encodings if not encodings or own in encodings]:
        row: list[str] = [name]
        row += [learned_words(task.learned[name])] if task.learned else []
        row += [_score(own.cell(name)) for own in ranges]
        row += [reach_words(task.reach.get(name))] if task.reach else []
        rows.append(tuple(row))
    note = "Mean over seeds with its 95 % interval; seeds that did not learn the task are shown and not ranked."
    return Table(f"{task.task} scores", f"{task.task}: scores", tuple(columns), rows, note=note)


def _score(cell: Cell) -> str:
    return mean_and_interval(cell.interval) or unranked_words(cell) or cell_words(cell)
