"""All tables of a comparison."""

import json
from collections.abc import Iterable
from typing import Any

from ordinate.report.chart import file_names
from ordinate.report.table import Column, Table, Value, jsonable
from ordinate.statistics.analysis import Cell, Range, TaskAnalysis
from ordinate.statistics.ranks import Ranks
from ordinate.studies.comparison import Comparison

SCORE, P = ".3f", ".3g"
ENCODING, TASK, RANGE = Column("encoding", "encoding"), Column("task", "task"), Column("range", "range")


def tables(comparison: Comparison) -> tuple[Table, ...]:
    """One summary per task; then results, pairs, matrix, ranks and sweep over all tasks."""
    summaries = [summary(comparison, task) for task in comparison.analysis.tasks]
    rest = [make(comparison) for make in (results, pairs, fits, matrix, ranks, sweep, settings, runs)]
    found = [*summaries, *(table for table in rest if table.rows)]
    names = file_names(table.name for table in found)
    return tuple(Table(names[t.name], t.title, t.columns, t.rows, t.bold, t.note) for t in found)


def summary(comparison: Comparison, task: TaskAnalysis) -> Table:
    """Encodings by ranges: the word and the mean with its interval."""
    columns = [ENCODING]
    columns += [Column("fitted", "fitted")] if task.bar is not None else []
    columns += [Column(r.name, r.name) for r in task.ranges]
    rows: list[tuple[Value, ...]] = []
    bold = set()
    best = [winner(r) for r in task.ranges]
    for encoding in task.encodings:
        head: list[Value] = [encoding]
        head += [_share(task, encoding)] if task.bar is not None else []
        cells = [next((cell for cell in r.cells if cell.encoding == encoding), None) for r in task.ranges]
        bold |= {(len(rows), len(head) + index) for index, name in enumerate(best) if name == encoding}
        rows.append((*head, *map(_told, cells)))
    metric = comparison.metrics.get(task.task, "score")
    note = f"Mean {metric} over the seeds that count, with its 95 % interval."
    if task.bar is not None:
        note += f" Fitted: in distribution at or above {task.bar:g}; other seeds do not count out of distribution."
    else:
        note += " Lower is better." if task.direction == "lower" else ""
    note += (
        " Bold: better than every other encoding by a corrected test."
        if bold
        else " No encoding is shown to be better than all others."
    )
    return Table(f"summary {task.task}", f"{task.task}: {metric}", tuple(columns), tuple(rows), frozenset(bold), note)


def _share(task: TaskAnalysis, encoding: str) -> str | None:
    fitted, of = task.fits.get(encoding, (0, 0))
    return f"{fitted} of {of}" if of else None


def _told(cell: Cell | None) -> str | None:
    """`solves 0.998 [0.995, 1.000]`."""
    if cell is None:
        return None
    if cell.interval is None:
        return cell.word or None
    mean = f"{cell.interval.mean:.3f}"
    if cell.interval.low is not None and cell.interval.high is not None:
        mean += f" [{cell.interval.low:.3f}, {cell.interval.high:.3f}]"
    else:
        mean += " (1 seed)"
    return f"{cell.word} {mean}".strip()


def winner(r: Range) -> str | None:
    """The encoding of which the statistics say that it is better than each of the others on this range."""
    beaten: dict[str, set[str]] = {}
    for pair in r.pairs:
        if pair.claim:
            beaten.setdefault(pair.better, set()).add(pair.worse)
    others = len(r.cells) - 1
    return next((name for name, worse in beaten.items() if len(worse - {name}) == others > 0), None)


def results(comparison: Comparison) -> Table:
    """One row per task, range and encoding."""
    columns = (
        TASK, RANGE, Column("split", "split"), Column("length", "length"), ENCODING, Column("word", "word"),
        Column("fitted", "fitted"), Column("of", "of"), Column("mean", "mean", SCORE), Column("low", "95 % low", SCORE),
        Column("high", "95 % high", SCORE), Column("minimum", "min", SCORE), Column("maximum", "max", SCORE),
        Column("n", "n"), Column("normalised", "normalised", SCORE), Column("chance", "chance", SCORE),
        Column("floor", "floor", SCORE), Column("sequences", "sequences"),
    )  # fmt: skip
    best = {(task.task, r.name): winner(r) for task in comparison.analysis.tasks for r in task.ranges}
    records = comparison.analysis.records()
    rows = tuple(tuple(record[column.name] for column in columns) for record in records)
    winners = (
        i for i, found in enumerate(records) if best[str(found["task"]), str(found["range"])] == found["encoding"]
    )
    bold = frozenset((i, 8) for i in winners)
    note = "n: seeds that count. Normalised: 0 at chance, 1 when all is right. Floor: the best score without order."
    return Table("results", "All results", columns, rows, bold, note)


def pairs(comparison: Comparison) -> Table:
    """Every two encodings on every range."""
    level = f"{100 * (1 - comparison.analysis.alpha):.3g} %"
    columns = (
        TASK, RANGE, Column("better", "better mean"), Column("worse", "worse mean"), Column("seeds", "seeds"),
        Column("difference", "difference", ".4f"), Column("low", f"{level} low", ".4f"),
        Column("high", f"{level} high", ".4f"),
        Column("p", "p", P), Column("corrected", "p, corrected", P), Column("claim", "claim"),
        Column("remark", "remark"),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for task in comparison.analysis.tasks:
        for r in task.ranges:
            for pair in r.pairs:
                i = pair.difference
                numbers = (i.mean, i.low, i.high) if i else (None, None, None)
                names = (task.task, r.name, pair.better, pair.worse, pair.seeds)
                rows.append((*names, *numbers, pair.p, pair.corrected, pair.claim, pair.remark))
    alpha = comparison.analysis.alpha
    note = f"Exact sign-flip tests over paired seeds, corrected by Holm within a range; alpha {alpha:.3g}."
    return Table("pairs", "Pairs", columns, tuple(rows), note=note)


def fits(comparison: Comparison) -> Table:
    """How many seeds passed the gate, compared pair by pair."""
    columns = (
        TASK, Column("more", "fits more often"), Column("less", "fits less often"), Column("seeds", "seeds"),
        Column("p", "p", P), Column("corrected", "p, corrected", P), Column("claim", "claim"),
        Column("remark", "remark"),
    )  # fmt: skip
    rows = tuple(
        (task.task, pair.better, pair.worse, pair.seeds, pair.p, pair.corrected, pair.claim, pair.remark)
        for task in comparison.analysis.tasks
        for pair in task.fit_pairs
    )
    return Table("fits", "Fit rates compared", columns, rows)


def matrix(comparison: Comparison) -> Table:
    """What each encoding can, costs and needs, as measured."""
    columns = (
        TASK, ENCODING, Column("reach", "maximum length"), Column("past", "past the trained length"),
        Column("word", "generalisation"), Column("mean", "mean there", SCORE),
        Column("own_parameters", "own parameters", ","), Column("parameters", "all parameters", ","),
        Column("step_ms", "ms per step", ".1f"), Column("memory_mb", "memory, MB", ".1f"),
        Column("rate", "learning rate", "g"), Column("norm_ratio", "encoding / embedding norm", ".2f"),
        Column("speed", "checkpoints to the bar"),
    )  # fmt: skip
    heads = {task.task: task.ranges[task.headline] for task in comparison.analysis.tasks if task.ranges}
    rows: list[tuple[Value, ...]] = []
    for profile in comparison.profiles:
        head = heads.get(profile.task)
        cell = next((c for c in head.cells if c.encoding == profile.encoding), None) if head else None
        mean = cell.interval.mean if cell and cell.interval else None
        ratio = profile.encoding_norm / profile.embedding_norm if profile.embedding_norm else None
        memory = None if profile.memory is None else profile.memory / 1e6
        speed = ", ".join("never" if seed is None else str(seed) for seed in profile.learning_speed)
        reach = "no limit" if profile.reach is None else str(profile.reach)
        rows.append((
            profile.task, profile.encoding, reach, profile.past, cell.word if cell else None, mean,
            profile.own_parameters, profile.parameters, profile.step_ms, memory, profile.rate, ratio, speed,
        ))  # fmt: skip
    where = "; ".join(f"{task}: {r.name}" for task, r in heads.items())
    return Table("matrix", "Matrix of encodings", columns, tuple(rows), note=f"Generalisation is measured at {where}.")


def ranks(comparison: Comparison) -> Table:
    """Average and reciprocal ranks, by task over seeds and by family over tasks; never one number over all."""
    columns = (
        Column("scope", "scope"), Column("of", "of"), RANGE, ENCODING, Column("rank", "average rank", ".2f"),
        Column("reciprocal", "mean reciprocal rank", SCORE), Column("group", "group"), Column("blocks", "blocks"),
        Column("critical_difference", "critical difference", ".2f"), Column("friedman_p", "Friedman p", P),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for task in comparison.analysis.tasks:
        head = task.ranges[task.headline] if task.ranges else None
        if head is not None and head.ranks is not None:
            rows += _ranked(("task", task.task, head.name), head.ranks)
    for family, found in comparison.analysis.families.items():
        rows += _ranked(("family", family, None), found)
    note = "Ranks that share a letter are not told apart. Blocks: seeds of a task, tasks of a family."
    return Table("ranks", "Ranks", columns, tuple(rows), note=note)


def _ranked(scope: tuple[Value, ...], found: Ranks) -> Iterable[tuple[Value, ...]]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    tail = (found.blocks, found.critical_difference, found.friedman_p)
    for encoding, average in found.average.items():
        group = "".join(letter for letter, names in zip(letters, found.groups, strict=False) if encoding in names)
        yield (*scope, encoding, average, found.reciprocal.get(encoding), group, *tail)


def sweep(comparison: Comparison) -> Table:
    """Every learning rate tried, with what it gave out of distribution: shown, never used."""
    outside = list(dict.fromkeys(name for s in comparison.sweeps for point in s.points for name in point.outside))
    columns = (
        TASK, ENCODING, Column("rate", "learning rate", "g"), Column("score", "validation score", SCORE),
        Column("error", "standard error", ".4f"),
        Column("loss", "validation loss", ".4f"), Column("tied", "tied"), Column("chosen", "chosen"),
        Column("at_edge", "at the edge"), *(Column(name, name, SCORE) for name in outside),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for s in comparison.sweeps:
        for point in s.points:
            chosen = point.rate == s.chosen
            marks = (point.rate in s.tied, chosen, chosen and s.at_edge)
            rest = (point.outside.get(name) for name in outside)
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


def _flat(values: dict[str, Any], before: str = "") -> Iterable[tuple[str, Value]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value if isinstance(value, str) else json.dumps(value, default=str)


def runs(comparison: Comparison) -> Table:
    """All runs, with their ids: the hash of what each of them is."""
    keys = list(dict.fromkeys(key for run in comparison.runs for key in run))
    named = {"seconds": ".1f", "rate": "g"}
    columns = tuple(Column(key, key, named.get(key, "")) for key in keys)
    rows = tuple(tuple(jsonable(_plain(run.get(key))) for key in keys) for run in comparison.runs)
    return Table("runs", "Runs", columns, rows)


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
