"""All tables of a comparison."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Literal

from ordinate.report.chart import file_names
from ordinate.report.json_document import jsonable
from ordinate.report.ranking import claimed, joined
from ordinate.report.summary import COLUMNS, by_score, shared_columns, summary_name, summary_table, winner
from ordinate.report.table import Column, LazyRows, Table, TableRow, Value
from ordinate.results.comparison import ComparedRun, Comparison
from ordinate.statistics.observations import range_name
from ordinate.statistics.phrases import cell_words, covered, outcome_words
from ordinate.statistics.ranks import AverageRanks
from ordinate.statistics.types import Basis, Contrast, TaskAnalysis

SCORE, P = ".3f", ".3g"
Cells = Literal["text", "numbers", "paper"]  # of a summary
ENCODING, TASK, RANGE = Column("encoding", "encoding"), Column("task", "task"), Column("range", "range")


def tables(
    comparison: Comparison, tasks: Sequence[TaskAnalysis] | None = None, cells: Cells = "text"
) -> Iterator[Table]:
    """The summary of each task, of all tasks by default; then the tables of the whole comparison.

    cells: those of the summaries are texts for people, numbers for programs, or short texts for a paper.
    """
    chosen = comparison.analysis.tasks if tasks is None else tasks
    names = file_names(map(summary_name, chosen))
    for task in chosen:
        metric = comparison.metrics.get(task.task, "score")
        made = summary_numbers(comparison, task) if cells == "numbers" else summary(comparison, task)
        made = summary_table(task, metric, task.ranges, verdicts=False) if cells == "paper" else made
        yield replace(made, name=names[summary_name(task)])
    makers = (results, pairs, matrix, ranks, sweep, by_rate, settings, runs)
    yield from (table for make in makers if (table := make(comparison)).rows)


def summary(comparison: Comparison, task: TaskAnalysis) -> Table:
    """One row per encoding, with every range."""
    return summary_table(task, comparison.metrics.get(task.task, "score"), task.ranges)


def summary_numbers(comparison: Comparison, task: TaskAnalysis) -> Table:
    """The same with a number in every cell but verdicts: means with both ends of their intervals."""
    own = [column for column in COLUMNS if column.applies(task)]
    columns = [column.column for column in own]
    if task.reach:
        columns += [Column("reach_low", "reach, 95 % low"), Column("reach_high", "reach, 95 % high")]
    parts = ("mean", "low", "high", "n", "not ranked", "verdict")
    columns += [Column(f"{r.name} {part}", f"{r.name} {part}") for r in task.ranges for part in parts]
    rows = []
    for encoding in by_score(task):
        row: list[Value] = [column.value(task, encoding) for column in own]
        if task.reach:
            row += task.reach[encoding].interval or (None, None)
        for cell in (r.cell(encoding) for r in task.ranges):
            mean = cell.interval
            row += (mean.mean, mean.low, mean.high, mean.n) if mean else (None, None, None, 0)
            row += (cell.unranked, cell_words(cell) or None)
        rows.append(tuple(row))
    full = summary(comparison, task)
    return Table(full.name, full.title, tuple(columns), tuple(rows), note=full.note)


def results(comparison: Comparison) -> Table:
    """One row per task, range and encoding."""
    columns = (
        TASK, RANGE, Column("split", "split"), Column("length", "length"), ENCODING, Column("verdict", "verdict"),
        Column("learned", "learned"), Column("of", "of"), Column("mean", "mean", SCORE),
        Column("low", "95 % low", SCORE), Column("high", "95 % high", SCORE), Column("minimum", "min", SCORE),
        Column("maximum", "max", SCORE), Column("n", "n"), Column("unranked", "not ranked", SCORE),
        Column("normalized", "normalized", SCORE), Column("reach", "median reach", ".3g"),
        Column("chance", "chance", SCORE), Column("floor", "floor", SCORE), Column("sequences", "sequences"),
    )  # fmt: skip
    cells = ((task, r, cell) for task in comparison.analysis.tasks for r in task.ranges for cell in r.cells)
    names, rows, bold = [column.name for column in columns], list[TableRow](), set()
    for record, (task, r, cell) in zip(comparison.analysis.each_record(), cells, strict=True):
        if r is task.shown and winner(task) == cell.encoding:
            bold.add((len(rows), names.index("mean")))
        record["verdict"] = cell_words(cell)
        rows.append(tuple(record[name] for name in names))
    note = (
        "n: seeds that count; not ranked: the mean of those that did not learn the task. "
        "Normalized: 0 at chance, 1 when all is right. Floor: the best score without order. "
        "Reach: of the encoding, in multiples of the longest trained length."
    )
    paper = ("task", "range", "encoding", "verdict", "learned", "of", "mean", "low", "high", "n")
    return Table("results", "All results", columns, tuple(rows), frozenset(bold), note, printed=paper)


def pairs(comparison: Comparison) -> Table:
    """Every two encodings that have seeds to compare, on the headline range of their task."""
    level = f"{100 * (1 - comparison.analysis.alpha):.3g} %"
    columns = (
        TASK, RANGE, Column("first", "first"), Column("second", "second"), Column("test", "test"),
        Column("seeds_first", "seeds of the first"), Column("seeds_second", "of the second"),
        Column("mean_first", "mean of the first", SCORE), Column("mean_second", "of the second", SCORE),
        Column("difference", "difference", ".4f"), Column("low", f"{level} low", ".4f"),
        Column("high", f"{level} high", ".4f"), Column("improvement", "probability of improvement", SCORE),
        Column("improvement_low", "95 % low", SCORE), Column("improvement_high", "95 % high", SCORE),
        Column("p", "p", P), Column("corrected", "p, corrected", P),
        Column("claim", "claim"), Column("outcome", "outcome"),
    )  # fmt: skip
    rows = LazyRows([(task, pair) for task in comparison.analysis.tasks for pair in task.pairs], _pair)
    note = (
        "The first of a pair has the better mean, unless both are equal; only the outcome says whether it is better. "
        "Scores, and areas under the scores over log length: Welch's test of log error rates, or of the scores where "
        "all seeds are 0.15 apart (of a loss, of the loss itself), in which a seed that did not learn the task counts "
        "as the floor beyond the trained length; learning: Fisher's exact test of how many did. Corrected by Holm over "
        "all tests of all tasks, after Tarone without those that could not reach significance however the seeds fall; "
        f"a claim needs a corrected p below {comparison.analysis.alpha:.3g}. "
        "Probability of improvement: that a seed of the first has the higher value. Intervals are those of one pair "
        "alone; no "
        "difference above 0.02: the interval corrected for all pairs (Bonferroni) lies within 0.02."
    )
    paper = ("task", "better", "worse", "test", "difference", "low", "high", "corrected", "outcome")
    return Table("pairs", "Pairs", columns, rows, note=note, printed=paper)


def _pair(tested: tuple[TaskAnalysis, Contrast]) -> TableRow:
    task, pair = tested
    inside = range_name("id", task.trained or 0)
    where = {Basis.LEARNING: inside, Basis.SCORES: task.shown.name}.get(pair.basis) or covered(task)
    return (
        task.task, where, pair.better, pair.worse, pair.basis.value, *pair.seeds, *pair.means,
        pair.difference.mean, pair.difference.low, pair.difference.high, *(pair.improvement or (None, None, None)),
        pair.p, pair.corrected, pair.claim, outcome_words(pair),
    )  # fmt: skip


def matrix(comparison: Comparison) -> Table:
    """The summary of every task, beside what each encoding costs and how far it goes."""
    known = {task.task: task for task in comparison.analysis.tasks}
    shared = shared_columns(known.values())
    columns = (
        TASK, ENCODING, Column("limit", "maximum length"), Column("past", "past the trained length"),
        *(c.column for c in shared), Column("mean", "mean on the headline range", SCORE),
        Column("own_parameters", "own parameters", ","), Column("parameters", "all parameters", ","),
        Column("step_ms", "ms per step", ".1f"), Column("memory_mb", "memory, MB", ".1f"),
        Column("rate", "learning rate", "g"), Column("norm_ratio", "encoding / embedding norm", ".2f"),
    )  # fmt: skip
    rows: list[TableRow] = []
    for profile in comparison.profiles:
        task, encoding = known.get(profile.task), profile.encoding
        scores: list[Value] = [None] * (len(shared) + 1)
        if task is not None and encoding in task.encodings:
            interval = task.shown.cell(encoding).interval
            scores = [c.cell(task, encoding) if c.applies(task) else None for c in shared]
            scores.append(interval.mean if interval else None)
        ratio = profile.encoding_norm / profile.embedding_norm if profile.embedding_norm else None
        memory = None if profile.memory is None else profile.memory / 1e6
        limit = "no limit" if profile.max_positions is None else str(profile.max_positions)
        rows.append((
            profile.task, encoding, limit, profile.extrapolation, *scores, profile.own_parameters, profile.parameters,
            profile.step_ms, memory, ", ".join(f"{rate:g}" for rate in profile.rates), ratio,
        ))  # fmt: skip
    where = "; ".join(f"{name}: {task.shown.name}" for name, task in known.items())
    paper = ("task", "encoding", "limit", "past", "own_parameters", "parameters", "step_ms", "memory_mb", "rate")
    note = f"Headline ranges: {where}."
    return Table("matrix", "Matrix of encodings", columns, tuple(rows), note=note, printed=paper)


def ranks(comparison: Comparison) -> Table:
    """Average and reciprocal ranks, by task over seeds and by family over tasks; never one number over all."""
    columns = (
        Column("scope", "scope"), Column("of", "of"), RANGE, ENCODING, Column("rank", "average rank", ".2f"),
        Column("reciprocal", "mean reciprocal rank", SCORE), Column("group", "group"), Column("blocks", "blocks"),
        Column("critical_difference", "critical difference", ".2f"), Column("friedman_p", "Friedman p", P),
    )  # fmt: skip
    rows: list[TableRow] = []
    for task in comparison.analysis.tasks:
        if task.shown.ranks:
            rows += _ranked(("task", task.task, task.shown.name), task.shown.ranks, claimed(task))
    for family, found in comparison.analysis.families.items():
        rows += _ranked(("family", family, None), found, ())
    note = (
        "Encodings that share a letter have ranks that overlap (Nemenyi's test; blocks: seeds of a task, tasks of a "
        "family), and no test of the task's pairs tells them apart. Overlap of ranks is a weaker test than that of "
        "the pairs, which alone makes claims."
    )
    return Table("ranks", "Ranks", columns, tuple(rows), note=note)


def _ranked(scope: TableRow, found: AverageRanks, apart: Collection[frozenset[str]]) -> Iterable[TableRow]:
    letters, groups = "abcdefghijklmnopqrstuvwxyz", joined(found, apart)
    tail = (found.blocks, found.critical_difference, found.friedman_p)
    for encoding, average in found.average.items():
        group = "".join(letter for letter, names in zip(letters, groups, strict=False) if encoding in names)
        yield (*scope, encoding, average, found.reciprocal.get(encoding), group, *tail)


def sweep(comparison: Comparison) -> Table:
    """Every learning rate tried, with what it gave out of distribution: shown, never used."""
    outside = list(dict.fromkeys(key for s in comparison.sweeps for point in s.points for key in point.outside))
    columns = (
        TASK, ENCODING, Column("rate", "learning rate", "g"), Column("score", "validation score", SCORE),
        Column("error", "standard error", ".4f"), Column("loss", "validation loss", ".4f"), Column("used", "used"),
        Column("at_edge", "at the edge"), *(Column(range_name(*key), range_name(*key), SCORE) for key in outside),
    )  # fmt: skip
    rows = tuple(
        (
            s.task, s.encoding, point.rate, point.score, None if point.score is None else point.error, point.loss,
            point.rate in s.used, point.rate == s.chosen and s.at_edge,
            *(point.outside.get(key) for key in outside),
        )
        for s in comparison.sweeps for point in s.points
    )  # fmt: skip
    note = (
        "One pilot seed, never reported. Used: the best and those within one standard error of it, which are dealt out "
        "over the reported seeds. Out of distribution is shown and was not used to choose."
    )
    return Table("sweep", "Learning rates tried", columns, rows, note=note)


def by_rate(comparison: Comparison) -> Table:
    """The scores of the reported seeds by the learning rate that was dealt to them, where several tied."""
    rates = {(run.task, run.encoding, run.seed): run.rate for run in comparison.runs if not run.pilot}
    rows: list[tuple[Value, ...]] = []
    for task in comparison.analysis.tasks:
        for r in task.ranges:
            for cell in r.cells:
                own: dict[float, list[float]] = {}
                for seed, score, counts in zip(cell.seeds, cell.scores, cell.counted, strict=True):
                    rate = rates.get((task.task, cell.encoding, seed))
                    if counts and score is not None and rate is not None:
                        own.setdefault(rate, []).append(score)
                for rate, scores in sorted(own.items()) if len(own) > 1 else ():
                    seeds, mean = len(scores), sum(scores) / len(scores)
                    rows.append((task.task, r.name, cell.encoding, rate, seeds, mean, min(scores), max(scores)))
    columns = (
        TASK, RANGE, ENCODING, Column("rate", "learning rate", "g"), Column("seeds", "seeds"),
        Column("mean", "mean", SCORE), Column("minimum", "minimum", SCORE), Column("maximum", "maximum", SCORE),
    )  # fmt: skip
    note = "Learning rates that tie on the pilot seed; what they do to scores is part of every interval and test."
    return Table("by rate", "Scores by learning rate", columns, tuple(rows), note=note)


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
