"""Pictures of single runs, one or several in each: how they learned, and what they score by length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ordinate.report.chart import Chart, Line, Number, Series, Shade, thin
from ordinate.report.colors import DASHES, GRAY, MARKERS, Style, styles
from ordinate.report.curves import MOST_POINTS
from ordinate.results.run_result import RunResult
from ordinate.store.run_table import REPORTED

Points = Mapping[tuple[str, str], Sequence[tuple[int, Number]]]  # split, metric: step, value
Against = Literal["step", "seconds"]


@dataclass(frozen=True)
class Drawn:
    """A run as pictures show it."""

    label: str
    style: Style
    task: str
    points: Points
    pace: float | None = None  # seconds that a step takes; none: not known
    result: RunResult | None = None  # None: not done
    trained: tuple[int, int] | None = None  # shortest and longest length


def run_styles(encodings: Sequence[str]) -> list[Style]:
    """One style per run: the color of its encoding, and another dash and marker for each that shares it."""
    own, before, found = styles(encodings), dict[str, int](), []
    for name in encodings:
        style, turn = own[name], before.get(name, 0)
        dash = DASHES[(DASHES.index(style.dash) + turn) % len(DASHES)]
        marker = MARKERS[(MARKERS.index(style.marker) + turn) % len(MARKERS)]
        found.append(Style(style.color, dash, marker))
        before[name] = turn + 1
    return found


def learning(runs: Sequence[Drawn], metric: str, against: Against = "step", smoothing: float = 0.0) -> Chart | None:
    """Training and validation of one metric; none if no run has a point of it."""
    behind, front, unknown = [], [], []
    for run in runs:
        scale = 1.0 if against == "step" else run.pace
        if scale is None:
            unknown.append(run.label)
            continue
        for split, name in (("train", "training"), ("valid", "validation")):
            points = run.points.get((split, metric), ())
            if not points:
                continue
            x = tuple(step * scale for step, _ in points)
            y = tuple(value for _, value in points)
            full = name if len(runs) == 1 else f"{run.label}, {name}"
            label = name if len(runs) == 1 else run.label if split == "valid" or len(points) == 1 else ""
            look = ("mean", run.style) if split == "valid" else ("reference", Style(run.style.color, "dot"))
            if smoothing > 0:
                behind.append(_thinned(Series(full, x, y, run.style, "seed", group=run.label)))
                y = smooth(y, smoothing)
            front.append(_thinned(Series(full, x, y, look[1], look[0], label, group=run.label)))  # type: ignore[arg-type]
    if not front:
        return None
    share = metric != "loss"
    parts = [] if len(runs) == 1 else ["Thick: validation. Dotted: training."]
    parts += ["Thin: before smoothing."] if smoothing > 0 else []
    parts += ["Seconds are spread evenly over the steps."] if against == "seconds" else []
    parts += [f"No seconds are known of {', '.join(unknown)}: see it by step."] if unknown else []
    bars = {run.result.bar for run in runs if run.result is not None and run.result.metric == metric}
    return Chart(
        name=f"{metric} while training",
        title=f"{metric.capitalize()} while training",
        x_title=against,
        y_title=metric,
        series=(*behind, *front),
        lines=tuple(Line(bar, f"bar {bar:g}") for bar in sorted(bar for bar in bars if bar is not None)),
        y_range=(-0.03, 1.08) if share else None,
        note=" ".join(parts),
    )


def smooth(values: Sequence[Number], weight: float) -> tuple[Number, ...]:
    """Means in which a value counts `weight` times as much as the one after it; gaps stay gaps."""
    total = count = 0.0
    found: list[Number] = []
    for value in values:
        if value is None:
            found.append(None)
            continue
        total, count = total * weight + value, count * weight + 1
        found.append(total / count)
    return tuple(found)


def _thinned(series: Series) -> Series:
    at = thin(len(series.x), MOST_POINTS)
    x, y = tuple(series.x[i] for i in at), tuple(series.y[i] for i in at)
    return Series(series.name, x, y, series.style, series.look, series.label, group=series.group)


def by_length(runs: Sequence[Drawn], *, alone: bool) -> Chart | None:
    """Scores of runs on one task, at every length; past the trained ones only of runs that learned it.

    `alone`: there is one run, which needs no name.
    """
    done = [run for run in runs if run.result is not None]
    if not done:
        return None
    first = done[0].result
    assert first is not None
    front, hidden, floors = [], [], dict[int, tuple[float, float]]()
    for run in done:
        assert run.result is not None
        rows = sorted((row for row in run.result.evaluation if row.split != "valid"), key=lambda row: row.length)
        words = run.result.words
        scores = [None if row.split != "id" and (words[row.key] or "") not in REPORTED else row.score for row in rows]
        if any(score is None and row.score is not None for score, row in zip(scores, rows, strict=True)):
            hidden.append(run.label)
        label = "score" if alone else run.label
        for shifted, look in ((False, "mean"), (True, "rings")):
            at = [index for index, row in enumerate(rows) if (row.split == "shift") == shifted]
            if at:
                x, y = tuple(rows[i].length for i in at), tuple(scores[i] for i in at)
                name, shown = (f"{label}, shifted", "") if shifted else (label, label)
                front.append(Series(name, x, y, run.style, look, shown, group=run.label))  # type: ignore[arg-type]
        for row in rows:
            floors.setdefault(row.length, (row.chance, row.floor))
    trained = next((run.trained for run in done if run.trained), None)
    lengths = sorted(floors)
    metric = {"exact": "exact match", "loss": "loss (lower is better)"}.get(first.metric, first.metric)
    values = [y for series in front for y in series.y]
    inside = first.bar is not None and all(y is None or 0 <= y <= 1 for y in values)
    return Chart(
        name=f"{done[0].task} length",
        title=f"{done[0].task}: {metric} by length",
        x_title="length",
        y_title=metric,
        series=(*_references(floors, lengths, first.bar), *front),
        lines=() if first.bar is None else (Line(first.bar, f"bar {first.bar:g}"),),
        shade=Shade(*trained, f"trained {trained[0]} to {trained[1]}") if trained else None,
        x_ticks=tuple(lengths) if len(lengths) <= 8 else (),
        y_range=(-0.03, 1.12) if inside else None,  # above 1 there is room for the label of the trained lengths
        note=_length_note(front, hidden, alone=alone),
        task=done[0].task,
    )


def _references(floors: Mapping[int, tuple[float, float]], lengths: list[int], bar: float | None) -> list[Series]:
    """What guessing, and reading without order, would score."""
    best = "floor" if bar is not None else "best baseline"
    chance, floor = (tuple(floors[n][which] for n in lengths) for which in (0, 1))
    x = tuple(float(n) for n in lengths)
    if chance == floor:
        return [Series(f"chance, {best}", x, floor, Style(GRAY, "dash"), "reference", f"chance, {best}")]
    return [
        Series("chance", x, chance, Style(GRAY, "dot"), "reference", "chance"),
        Series(best, x, floor, Style(GRAY, "dash"), "reference", best),
    ]


def _length_note(series: Sequence[Series], hidden: Sequence[str], *, alone: bool) -> str:
    parts = []
    if any(one.look == "rings" and any(y is not None for y in one.y) for one in series):
        parts.append("Rings: the same length, at places that training never showed.")
    if hidden:
        who = "This run" if alone else ", ".join(hidden)
        parts.append(f"{who} did not learn the task, so nothing is drawn past the trained lengths.")
    return " ".join(parts)
