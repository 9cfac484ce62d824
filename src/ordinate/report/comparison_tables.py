"""All tables of a comparison."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace

from ordinate.report.chart import file_names
from ordinate.report.json_document import jsonable
from ordinate.report.table import Column, LazyRows, Table, Value
from ordinate.results.comparison import ComparedRun, Comparison
from ordinate.statistics.observations import range_name
from ordinate.statistics.phrases import (
    cell_words,
    learned_words,
    mean_and_interval,
    outcome_words,
    reach_words,
    steps_words,
)
from ordinate.statistics.ranks import Ranks
from ordinate.statistics.types import Basis, Cell, Contrast, TaskAnalysis

SCORE, P = ".3f", ".3g"
ENCODING, TASK, RANGE = Column("encoding", "encoding"), Column("task", "task"), Column("range", "range")


def tables(comparison: Comparison, tasks: Sequence[TaskAnalysis] | None = None) -> Iterator[Table]:
    """One summary per task, of all tasks unless some are named; then results, pairs, matrix, ranks and sweep of all."""
    told, others = comparison.analysis.tasks if tasks is None else tasks, (results, pairs, matrix, ranks, sweep)
    names = file_names(map(_summary_name, told))
    for task in told:
        yield replace(summary(comparison, task), name=names[_summary_name(task)])
    yield from (table for make in (*others, settings, runs) if (table := make(comparison)).rows)


def _summary_name(task: TaskAnalysis) -> str:
    return f"summary {task.task}"


def summary(comparison: Comparison, task: TaskAnalysis) -> Table:
    """Encodings by ranges: the word and the mean with its interval; before them learning and reach."""
    heads = [
        *([Column("learned", "learned")] if task.learned else []),
        *([Column("steps", "steps to learn")] if task.steps else []),
        *([Column("reach", "reach")] if task.reach else []),
    ]
    columns = (ENCODING, *heads, *(Column(r.name, r.name) for r in task.ranges))
    rows: list[tuple[Value, ...]] = []
    bold = set()
    for encoding in task.encodings:
        head: list[Value] = [encoding]
        head += [learned_words(task.learned[encoding])] if task.learned else []
        head += [steps_words(task.steps.get(encoding))] if task.steps else []
        head += [reach_words(task.reach[encoding])] if task.reach else []
        if winner(task) == encoding:
            bold.add((len(rows), len(head) + task.headline))
        rows.append((*head, *(_cell(r.cell(encoding)) for r in task.ranges)))
    metric = comparison.metrics.get(task.task, "score")
    note = f"Mean {metric} over the seeds that count, with its 95 % interval."
    if task.learned:
        note += f" Learned: in distribution at or above {task.bar:g}; other seeds do not count at other ranges."
    if task.reach:
        note += " Reach: up to where every tested length is at that bar, in multiples of the longest trained length."
    if task.bar is None and task.direction == "lower":
        note += " Lower is better."
    note += f" Pairs are tested at {task.shown.name} alone; "
    note += (
        "bold: above every other encoding that can go there, by score or by the seeds that learned the task."
        if bold
        else "not one is shown to be above all others there."
    )
    return Table(_summary_name(task), f"{task.task}: {metric}", columns, tuple(rows), frozenset(bold), note)


def _cell(cell: Cell) -> str | None:
    """`solves 0.998 [0.995, 1.000]`."""
    return f"{cell_words(cell)} {mean_and_interval(cell.interval)}".strip() or None


def winner(task: TaskAnalysis) -> str | None:
    """The encoding that the tests set above each of the others on the headline range."""
    return task.verdict.use[0] if len(task.verdict.use) == 1 else None


def results(comparison: Comparison) -> Table:
    """One row per task, range and encoding."""
    columns = (
        TASK, RANGE, Column("split", "split"), Column("length", "length"), ENCODING, Column("word", "word"),
        Column("learned", "learned"), Column("of", "of"), Column("mean", "mean", SCORE),
        Column("low", "95 % low", SCORE),
        Column("high", "95 % high", SCORE), Column("minimum", "min", SCORE), Column("maximum", "max", SCORE),
        Column("n", "n"), Column("normalized", "normalized", SCORE), Column("reach", "median reach", "g"),
        Column("chance", "chance", SCORE), Column("floor", "floor", SCORE), Column("sequences", "sequences"),
    )  # fmt: skip
    cells = ((task, r, cell) for task in comparison.analysis.tasks for r in task.ranges for cell in r.cells)
    names, rows, bold = [column.name for column in columns], list[tuple[Value, ...]](), set()
    for record, (task, r, cell) in zip(comparison.analysis.each_record(), cells, strict=True):
        if r is task.shown and winner(task) == cell.encoding:
            bold.add((len(rows), names.index("mean")))
        record["word"] = cell_words(cell)
        rows.append(tuple(record[name] for name in names))
    note = (
        "n: seeds that count. Normalized: 0 at chance, 1 when all is right. Floor: the best score without order. "
        "Reach: of the encoding, in multiples of the longest trained length."
    )
    return Table("results", "All results", columns, tuple(rows), frozenset(bold), note)


def pairs(comparison: Comparison) -> Table:
    """Every two encodings that have seeds to compare, on the headline range of their task."""
    level = f"{100 * (1 - comparison.analysis.alpha):.3g} %"
    columns = (
        TASK, RANGE, Column("better", "better"), Column("worse", "worse"), Column("test", "test"),
        Column("seeds_better", "seeds of the better"), Column("seeds_worse", "of the worse"),
        Column("mean_better", "mean of the better", SCORE), Column("mean_worse", "of the worse", SCORE),
        Column("difference", "difference", ".4f"), Column("low", f"{level} low", ".4f"),
        Column("high", f"{level} high", ".4f"), Column("p", "p", P), Column("p_welch", "p, Welch", P),
        Column("corrected", "p, corrected", P), Column("corrected_welch", "p, Welch, corrected", P),
        Column("claim", "claim"), Column("outcome", "outcome"),
    )  # fmt: skip
    rows = LazyRows([(task, pair) for task in comparison.analysis.tasks for pair in task.pairs], _pair)
    note = (
        "Scores: two-sample permutation test (exact up to 10 and 10 seeds, 100,000 random partings beyond, fewer for "
        "more than 5,000 pairs) and Welch's test of seeds that learned the task; learning: Fisher's exact test of how "
        "many did. Corrected by Holm over all tests of all tasks, after Tarone without those that could not reach "
        "significance however the seeds fall; a "
        f"claim needs both below {comparison.analysis.alpha:.3g}. Intervals are those of one pair alone; no "
        "difference above 0.02: the interval corrected for all pairs (Bonferroni) lies within 0.02."
    )
    return Table("pairs", "Pairs", columns, rows, note=note)


def _pair(tested: tuple[TaskAnalysis, Contrast]) -> tuple[Value, ...]:
    task, pair = tested
    return (
        task.task, _tested_at(task, pair), pair.better, pair.worse, pair.basis.value, *pair.seeds, *pair.means,
        pair.difference.mean, pair.difference.low, pair.difference.high, pair.p, pair.p_welch, pair.corrected,
        pair.corrected_welch, pair.claim, outcome_words(pair),
    )  # fmt: skip


def _tested_at(task: TaskAnalysis, pair: Contrast) -> str:
    return range_name("id", task.trained or 0) if pair.basis is Basis.LEARNING else task.shown.name


def matrix(comparison: Comparison) -> Table:
    """What each encoding can, costs and needs, as measured."""
    columns = (
        TASK, ENCODING, Column("limit", "maximum length"), Column("past", "past the trained length"),
        Column("reach", "reach"), Column("word", "generalization"), Column("mean", "mean there", SCORE),
        Column("steps", "steps to learn"), Column("own_parameters", "own parameters", ","),
        Column("parameters", "all parameters", ","), Column("step_ms", "ms per step", ".1f"),
        Column("memory_mb", "memory, MB", ".1f"), Column("rate", "learning rate", "g"),
        Column("norm_ratio", "encoding / embedding norm", ".2f"),
    )  # fmt: skip
    tasks = {task.task: task for task in comparison.analysis.tasks}
    rows: list[tuple[Value, ...]] = []
    for profile in comparison.profiles:
        task = tasks.get(profile.task)
        there: tuple[Value, ...] = (None, None, None)
        steps = None
        if task is not None and profile.encoding in task.encodings:
            cell = task.shown.cell(profile.encoding)
            reach = reach_words(task.reach.get(profile.encoding))
            there = (reach, cell_words(cell), cell.interval.mean if cell.interval else None)
            steps = steps_words(task.steps.get(profile.encoding))
        ratio = profile.encoding_norm / profile.embedding_norm if profile.embedding_norm else None
        memory = None if profile.memory is None else profile.memory / 1e6
        limit = "no limit" if profile.limit is None else str(profile.limit)
        rows.append((
            profile.task, profile.encoding, limit, profile.past, *there, steps, profile.own_parameters,
            profile.parameters, profile.step_ms, memory, profile.rate, ratio,
        ))  # fmt: skip
    where = "; ".join(f"{task}: {analyzed.shown.name}" for task, analyzed in tasks.items())
    return Table("matrix", "Matrix of encodings", columns, tuple(rows), note=f"Generalization is measured at {where}.")


def ranks(comparison: Comparison) -> Table:
    """Average and reciprocal ranks, by task over seeds and by family over tasks; never one number over all."""
    columns = (
        Column("scope", "scope"), Column("of", "of"), RANGE, ENCODING, Column("rank", "average rank", ".2f"),
        Column("reciprocal", "mean reciprocal rank", SCORE), Column("group", "group"), Column("blocks", "blocks"),
        Column("critical_difference", "critical difference", ".2f"), Column("friedman_p", "Friedman p", P),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for task in comparison.analysis.tasks:
        if task.shown.ranks is not None:
            rows += _ranked(("task", task.task, task.shown.name), task.shown.ranks)
    for family, found in comparison.analysis.families.items():
        rows += _ranked(("family", family, None), found)
    note = (
        "Ranks that share a letter overlap (Nemenyi's test; blocks: seeds of a task, tasks of a family). This is a "
        "different and weaker test than that of the pairs, which alone makes claims."
    )
    return Table("ranks", "Ranks", columns, tuple(rows), note=note)


def _ranked(scope: tuple[Value, ...], found: Ranks) -> Iterable[tuple[Value, ...]]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    tail = (found.blocks, found.critical_difference, found.friedman_p)
    for encoding, average in found.average.items():
        group = "".join(letter for letter, names in zip(letters, found.groups, strict=False) if encoding in names)
        yield (*scope, encoding, average, found.reciprocal.get(encoding), group, *tail)


def sweep(comparison: Comparison) -> Table:
    """Every learning rate tried, with what it gave out of distribution: shown, never used."""
    outside = list(dict.fromkeys(key for s in comparison.sweeps for point in s.points for key in point.outside))
    columns = (
        TASK, ENCODING, Column("rate", "learning rate", "g"), Column("score", "validation score", SCORE),
        Column("error", "standard error", ".4f"),
        Column("loss", "validation loss", ".4f"), Column("tied", "tied"), Column("chosen", "chosen"),
        Column("at_edge", "at the edge"), *(Column(range_name(*key), range_name(*key), SCORE) for key in outside),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for s in comparison.sweeps:
        for point in s.points:
            chosen = point.rate == s.chosen
            marks = (point.rate in s.tied, chosen, chosen and s.at_edge)
            rest = (point.outside.get(key) for key in outside)
            error = None if point.score is None else point.error
            rows.append((s.task, s.encoding, point.rate, point.score, error, point.loss, *marks, *rest))
    note = "One pilot seed, never reported. Out of distribution is shown and was not used to choose."
    return Table("sweep", "Learning rates tried", columns, tuple(rows), note=note)


def settings(comparison: Comparison) -> Table:
    """The configuration that all runs of a task share."""
    flat = {task: dict(_flat(values)) for task, values in comparison.settings.items()}
    keys = list(dict.fromkeys(key for values in flat.values() for key in values))
    columns = (Column("setting", "setting"), *(Column(task, task) for task in flat))
    rows = tuple((key, *(values.get(key) for values in flat.values())) for key in keys)
    return Table("settings", "Settings", columns, rows)


def _flat(values: Mapping[str, object], before: str = "") -> Iterable[tuple[str, Value]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value if isinstance(value, str) else json.dumps(value, default=str)


def runs(comparison: Comparison) -> Table:
    """All runs, with their ids: the hash of what each of them is."""
    formats = {"seconds": ".1f", "rate": "g"}
    columns = tuple(Column(field.name, field.name, formats.get(field.name, "")) for field in fields(ComparedRun))
    rows = tuple(tuple(jsonable(getattr(run, column.name)) for column in columns) for run in comparison.runs)
    return Table("runs", "Runs", columns, rows)
