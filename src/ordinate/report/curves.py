"""Scores against length, against steps and against the learning rate."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ordinate.report.chart import Chart, Line, Look, Number, Series, Shade, thin
from ordinate.report.colors import GRAY, Style
from ordinate.results.comparison import Comparison, Curve
from ordinate.statistics.observations import SPLIT_NAMES, Direction
from ordinate.statistics.phrases import cell_words, counted
from ordinate.statistics.types import Cell, Range, TaskAnalysis

MOST_SEEDS = 30  # drawn one by one; the mean is of all
MOST_POINTS = 500  # of a curve
MOST_CURVES = 40  # encodings of a picture
MOST_BEHIND = 60_000  # points of all thin lines of a picture: more make a page slow
RINGS = "Rings: the same length, at positions that training never showed."

Looks = Mapping[str, Style]


def by_length(comparison: Comparison, task: TaskAnalysis, looks: Looks) -> Chart | None:
    """Accuracy, or loss, at every evaluated length; out of distribution only of seeds that learned the task."""
    along = _thinned(sorted((r for r in task.ranges if r.split in ("id", "ood")), key=lambda r: (r.length, r.split)))
    apart = _thinned([r for r in task.ranges if r.split == "shift"])
    if not along and not apart:
        return None
    metric = _metric(comparison, task)
    behind, front = [], []
    drawn = task.encodings[:MOST_CURVES]
    most_seeds = max(1, min(MOST_SEEDS, MOST_BEHIND // (len(drawn) * max(len(along), 1))))
    for encoding in drawn:
        learned, of = task.learned.get(encoding, (0, 0))
        label = encoding if learned == of else f"{encoding} (learned by {learned} of {of})"
        for ranges in (along, apart):
            cells = [r.by_encoding.get(encoding) for r in ranges]
            seeds = _seeds(cells)[:most_seeds]
            lines = [(tuple(r.length for r in ranges), tuple(_score(cell, seed) for cell in cells)) for seed in seeds]
            behind += [_bundle(encoding, lines, looks[encoding], joined=ranges is along)] if lines else []
        front += [_means(encoding, label, along, looks[encoding])] if along else []
        front += [_means(encoding, "" if along else label, apart, looks[encoding], shifted=True)] if apart else []
    baselines = references([(r.length, r.chance, r.floor) for r in along or apart], task.bar)
    levels = tuple[Line, ...]()
    if len({r.length for r in (*along, *apart)}) == 1:  # a line through one point is not seen
        levels, baselines = tuple(Line(series.y[-1] or 0.0, series.label) for series in baselines), []
    series = (*baselines, *behind, *front)
    low, high = comparison.trained.get(task.task, (0, 0))
    return Chart(
        f"{task.task} length", f"{task.task}: {metric} by length", x_title="length", y_title=metric, series=series,
        lines=(*bar_line(task.bar), *levels), shade=trained_lengths(low, high) if high else None,
        x_ticks=few_ticks(r.length for r in task.ranges), y_range=score_range(series, task.direction),
        note=_length_note(task, along, apart, most_seeds), task=task.task,
    )  # fmt: skip


def _means(encoding: str, label: str, ranges: list[Range], style: Style, *, shifted: bool = False) -> Series:
    found = [cell.interval if (cell := r.by_encoding.get(encoding)) is not None else None for r in ranges]
    look: Look = "rings" if shifted else "mean"
    x, name = tuple(r.length for r in ranges), f"{encoding}, shifted" if shifted else encoding
    y, low, high = (tuple(getattr(i, end) if i else None for i in found) for end in ("mean", "low", "high"))
    return Series(name, x, y, style, look, label, low, high, group=encoding)


def _thinned(ranges: list[Range]) -> list[Range]:
    return [ranges[index] for index in thin(len(ranges), MOST_POINTS)]


def _length_note(task: TaskAnalysis, along: list[Range], apart: list[Range], most_seeds: int) -> str:
    parts, drawn = (
        ["Means with 95 % intervals over seeds; every seed is drawn behind them."],
        task.encodings[:MOST_CURVES],
    )
    if any(len(_seeds([r.by_encoding.get(e) for r in along])) > most_seeds for e in drawn):
        few = f"{counted(most_seeds, 'seed')} {'is' if most_seeds == 1 else 'are'} drawn behind them."
        parts = [f"Means with 95 % intervals over all seeds; {few}"]
    if len(drawn) < len(task.encodings):
        parts.append(f"The best {len(drawn)} of {len(task.encodings):,} encodings are drawn.")
    if len(along) + len(apart) < len(task.ranges):
        parts.append(f"{len(along) + len(apart)} of {len(task.ranges):,} ranges are drawn.")
    if task.bar is not None:
        parts.append("Past the trained lengths, seeds that did not learn the task are drawn but in no mean.")
    if apart:
        parts.append(RINGS)
    missing: dict[str, list[Range]] = {}
    for r in (*along, *apart):
        for cell in (r.cell(encoding) for encoding in drawn):
            if cell.interval is None and cell.unranked is None:
                missing.setdefault(f"{cell.encoding}: {cell_words(cell) or 'no score'}", []).append(r)
    parts += [f"{what}, so no point at {_spans(where)}." for what, where in missing.items()]
    return " ".join(parts)


def _spans(ranges: list[Range]) -> str:
    """`OOD length 40 to 128, shifted length 32`."""
    lengths: dict[str, list[int]] = {}
    for r in ranges:
        lengths.setdefault(SPLIT_NAMES[r.split], []).append(r.length)
    return ", ".join(f"{name} length {n[0]}" + (f" to {n[-1]}" if len(n) > 1 else "") for name, n in lengths.items())


def learning(comparison: Comparison, task: TaskAnalysis, looks: Looks) -> Chart | None:
    """The validation score while training."""
    curves = [curve for curve in comparison.curves if curve.task == task.task and curve.encoding in looks]
    inside = [r for r in task.ranges if r.split == "id"]
    floor = (Line(inside[-1].floor, "floor" if task.bar is not None else "best baseline"),) if inside else ()
    found = learning_curves(
        task.task,
        curves,
        looks,
        order=task.encodings,
        metric=_metric(comparison, task),
        lines=(*bar_line(task.bar), *floor),
    )
    return found and replace(found, y_range=score_range(found.series, task.direction))


def learning_curves(
    task: str, curves: Sequence[Curve], looks: Looks, *, order: Sequence[str], metric: str, lines: tuple[Line, ...] = ()
) -> Chart | None:
    """Validation scores of runs that are done or under way, by encoding; none if there is no point yet."""
    by_encoding: dict[str, list[Curve]] = {}
    for curve in curves:
        if curve.steps:
            by_encoding.setdefault(curve.encoding, []).append(curve)
    if not by_encoding:
        return None
    drawn = {name: sorted(curves, key=lambda c: c.seed)[:MOST_SEEDS] for name, curves in by_encoding.items()}
    most = max(2, min(MOST_POINTS, MOST_BEHIND // sum(map(len, drawn.values()))))
    behind, front = [], []
    for encoding in [name for name in order if name in by_encoding]:
        bundle = []
        for curve in drawn[encoding]:
            at = thin(len(curve.steps), most)
            bundle.append((tuple(curve.steps[i] for i in at), tuple(curve.values[i] for i in at)))
        behind.append(_bundle(encoding, bundle, looks[encoding]))
        front.append(_mean_curve(encoding, by_encoding[encoding], looks[encoding]))
    many = any(len(curves) > MOST_SEEDS for curves in by_encoding.values())
    thin_lines = f"the first {MOST_SEEDS} seeds" if many else "every seed"
    return Chart(
        f"{task} learning", f"{task}: learning curves", x_title="step", y_title=f"validation {metric}",
        series=(*behind, *front), lines=lines, task=task,
        note=f"Thick: the mean, wherever all seeds have a value. Thin: {thin_lines}.",
    )  # fmt: skip


def _mean_curve(encoding: str, curves: list[Curve], style: Style) -> Series:
    values: dict[int, list[float]] = {step: [] for curve in curves for step in curve.steps}
    for curve in curves:
        for step, value in zip(curve.steps, curve.values, strict=True):
            if value is not None:
                values[step].append(value)
    steps = sorted(values)
    steps = [steps[index] for index in thin(len(steps), MOST_POINTS)]
    # A mean over those that are left would jump whenever a run ends or diverges.
    means = [sum(values[step]) / len(curves) if len(values[step]) == len(curves) else None for step in steps]
    return Series(encoding, tuple(steps), tuple(means), style, "mean", encoding)


def rates(comparison: Comparison, task: TaskAnalysis, looks: Looks) -> Chart | None:
    """The learning rates of each encoding, and those that its reported runs use."""
    sweeps = [sweep for sweep in comparison.sweeps if sweep.task == task.task and sweep.encoding in looks]
    if not any(len(sweep.points) > 1 for sweep in sweeps):
        return None
    series, notes = (
        [],
        ["Pilot seed, never reported. Large: used by reported seeds, as within one standard error of the best."],
    )
    for sweep in sweeps:
        name, style = sweep.encoding, looks[sweep.encoding]
        score = {point.rate: point.score for point in sweep.points}
        series.append(Series(name, tuple(score), tuple(score.values()), style, "mean", name))
        used = tuple(score.get(rate) for rate in sweep.used)
        series.append(Series(f"{name}, used", sweep.used, used, style, "points", group=name))
        diverged = [f"{rate:g}" for rate, value in score.items() if value is None]
        notes += [f"{sweep.encoding} diverged at {', '.join(diverged)}."] if diverged else []
        notes += [f"{sweep.encoding}: the best rate is at the edge of the grid."] if sweep.at_edge else []
    return Chart(
        f"{task.task} rates", f"{task.task}: choice of the learning rate", x_title="learning rate",
        y_title=f"validation {_metric(comparison, task)}", series=tuple(series), lines=bar_line(task.bar), log_x=True,
        x_ticks=few_ticks(point.rate for sweep in sweeps for point in sweep.points),
        y_range=score_range(series, task.direction), note=" ".join(notes), task=task.task,
    )  # fmt: skip


def references(points: Sequence[tuple[int, float, float]], bar: float | None) -> list[Series]:
    """What guessing, and reading without order, would score: from lengths with their chance and floor, if known."""
    if not any(floor for *_, floor in points):
        return []
    (x, chance, floor), best = zip(*points, strict=True), "floor" if bar is not None else "best baseline"
    levels = {f"chance, {best}": floor} if chance == floor else {"chance": chance, best: floor}
    styles = (Style(GRAY, "dot" if name == "chance" else "dash") for name in levels)
    return [Series(name, x, y, look, "reference", name) for (name, y), look in zip(levels.items(), styles, strict=True)]


def _bundle(
    name: str, lines: Sequence[tuple[tuple[Number, ...], tuple[Number, ...]]], style: Style, *, joined: bool = True
) -> Series:
    """Many thin lines as one series: a page with one series per seed would be slow."""
    xs, ys = ([value for line in lines for value in (*line[axis], None)] for axis in (0, 1))
    return Series(name, tuple(xs[:-1]), tuple(ys[:-1]), style, "seed" if joined else "dots")


def _seeds(cells: Iterable[Cell | None]) -> list[int]:
    return sorted({seed for cell in cells if cell is not None for seed in cell.seeds})


def _score(cell: Cell | None, seed: int) -> Number:
    """A seed's score, ranked or not."""
    return None if cell is None or seed not in cell.seeds else cell.scores[cell.seeds.index(seed)]


def few_ticks(ticks: Iterable[float]) -> tuple[float, ...]:
    """A tick for each value, unless they would crowd."""
    found = sorted(set(ticks))
    return tuple(found) if len(found) <= 8 else ()


def bar_line(bar: float | None) -> tuple[Line, ...]:
    return () if bar is None else (Line(bar, f"bar {bar:g}"),)


def trained_lengths(low: int, high: int) -> Shade:
    return Shade(low, high, f"trained {low} to {high}" if low < high else f"trained {high}")


def _metric(comparison: Comparison, task: TaskAnalysis) -> str:
    return metric_title(comparison.metrics.get(task.task, "score"), task.direction)


def metric_title(name: str, direction: Direction) -> str:
    name = "exact match" if name == "exact" else name
    return f"{name} (lower is better)" if direction == "lower" else name


def score_range(series: Iterable[Series], direction: Direction) -> tuple[float, float] | None:
    """The whole range of a share, so that small differences look small; other scores choose for themselves."""
    if direction == "lower" or any(y is not None and not 0 <= y <= 1 for one in series for y in one.y):
        return None
    return (-0.03, 1.12)  # above 1 there is room for the label of the training range
