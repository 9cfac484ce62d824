"""The chart of a comparison under way: every run that has begun, from its first step on."""

from collections.abc import Mapping, Sequence

from ordinate.report.chart import Chart, Line, Series, thin
from ordinate.report.colors import GRAY, Style
from ordinate.report.curves import MOST_BEHIND, MOST_POINTS, learning_curves, score_range
from ordinate.results.comparison import Curve

PILOT_NOTE = "Dotted: pilot runs, one for each learning rate. They choose the rate and are never reported."
UNDER_WAY = "Large points: runs under way."


def live_chart(
    name: str,
    curves: Sequence[Curve],
    under_way: Sequence[Curve],
    looks: Mapping[str, Style],
    *,
    order: Sequence[str],
    metric: str,
    lines: tuple[Line, ...] = (),
    pilot: bool = False,
    share: bool = False,
    steps: int,
) -> Chart:
    """Curves of `metric`, with a large point at the end of those under way; before there are any, the axes up to
    `steps`, and the lines."""
    drawn = _pilots(curves, looks, order) if pilot else ()
    if not pilot and (found := learning_curves(name, curves, looks, order=order, metric=metric)) is not None:
        drawn = found.series
    now = tuple(
        Series(f"{curve.encoding}, under way", curve.steps[-1:], curve.values[-1:], looks[curve.encoding], "points",
               group=curve.encoding)
        for curve in under_way if curve.steps
    )  # fmt: skip
    x_range = None if drawn else (0.0, float(steps))
    if not drawn:  # plotly refuses a chart without any series
        drawn, now = (Series("no point yet", (0,), (None,), Style(GRAY), "seed"),), ()
    note = PILOT_NOTE if pilot else "Thick: the mean, wherever all seeds have a value. Thin: every seed."
    return Chart(
        f"{name} {metric}", f"{name}: {metric}", x_title="step", y_title=metric, series=(*drawn, *now), lines=lines,
        y_range=score_range(drawn, "higher") if share else None, note=f"{note} {UNDER_WAY}" if now else note,
        x_range=x_range, task=name,
    )  # fmt: skip


def _pilots(curves: Sequence[Curve], looks: Mapping[str, Style], order: Sequence[str]) -> tuple[Series, ...]:
    """One series for each encoding: its rates one after another, with gaps between them."""
    begun = [curve for curve in curves if curve.steps]
    most = max(2, min(MOST_POINTS, MOST_BEHIND // max(1, len(begun))))
    series = []
    for encoding in order:
        x: list[float | None] = []
        y: list[float | None] = []
        for curve in (curve for curve in begun if curve.encoding == encoding):
            at = thin(len(curve.steps), most)
            x += [*(curve.steps[index] for index in at), None]
            y += [*(curve.values[index] for index in at), None]
        if x:
            dotted = Style(looks[encoding].color, "dot", looks[encoding].marker)
            series.append(Series(f"{encoding}, pilot", tuple(x[:-1]), tuple(y[:-1]), dotted, "reference", encoding,
                                 group=encoding))  # fmt: skip
    return tuple(series)
