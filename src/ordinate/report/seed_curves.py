"""Curves of several seeds: every seed as a thin line, and their mean with its interval."""

import math
from collections.abc import Mapping, Sequence

from ordinate.report.chart import Chart, Number, Series, Shade
from ordinate.report.colors import Style, styles
from ordinate.statistics.interval import interval

Curve = Mapping[float, float]  # loss by context, position or tokens
SEEDS = "Means with 95 % intervals over seeds; every seed is drawn behind them."


def seed_series(curves: Mapping[str, Sequence[Curve]], looks: Mapping[str, Style], *, band: bool) -> tuple[Series, ...]:
    """For each name the curves of its seeds, behind, and the means of all names, in front."""
    behind = [_seeds(name, own, looks[name]) for name, own in curves.items() if own]
    front = [_mean(name, own, looks[name], band=band) for name, own in curves.items() if own]
    return (*behind, *front)


def seed_chart(
    curves: Mapping[str, Sequence[Curve]], name: str, title: str, x_title: str, note: str, length: int, *,
    y_title: str = "loss (nats per token)", looks: Mapping[str, Style] | None = None,
) -> Chart | None:  # fmt: skip
    """Over contexts or positions, on a logarithmic axis, with the trained length shaded."""
    series = seed_series(curves, looks or styles(curves), band=True)
    if not series:
        return None
    x = sorted({value for one in series for value in one.x if value is not None})
    low, high = (round(math.log2(max(end, 1))) for end in (x[0], x[-1]))
    return Chart(
        name, title, x_title, y_title, series, log_x=True,
        x_ticks=tuple(2.0**power for power in range(low, high + 1)),
        shade=Shade(min(x[0], length), length, f"trained to {length:,}"), note=note,
    )  # fmt: skip


def _seeds(name: str, curves: Sequence[Curve], style: Style) -> Series:
    """All seeds as one bundle, with a gap between each two."""
    x: list[Number] = []
    y: list[Number] = []
    for curve in curves:
        x += [*sorted(curve), None]
        y += [*(curve[at] for at in sorted(curve)), None]
    return Series(f"{name}, seeds", tuple(x), tuple(y), style, "seed", group=name)


def _mean(name: str, curves: Sequence[Curve], style: Style, *, band: bool) -> Series:
    """Where all seeds have a value."""
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    found = [interval([curve[at] for curve in curves]) for at in shared]
    low, high = (tuple(getattr(i, end) for i in found) if band else () for end in ("low", "high"))
    look = "mean" if band else "curve"
    return Series(name, tuple(shared), tuple(i.mean for i in found), style, look, name, low, high, group=name)  # type: ignore[arg-type]
