"""Draws pictures for print: one column of a paper, as PDF and PNG, the same bytes every time."""

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.core.extras import optional
from ordinate.report.chart import Chart, Figure, Heat, Look, Series, short, thin
from ordinate.report.colors import COLD, MARK, NEUTRAL, WARM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

WIDTH = 3.4  # inches: a column of a two-column paper
_DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.5)), "dashdot": (0, (5, 1.5, 1, 1.5))}
_MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "cross": "P", "x": "X", "triangle-down": "v",
    "star": "*",
}  # fmt: skip
_LOOKS: dict[Look, dict[str, Any]] = {
    "mean": dict(linewidth=1.3, markersize=3, zorder=4),
    "curve": dict(marker="", linewidth=1.1, zorder=4),
    "seed": dict(linestyle="-", linewidth=0.5, markersize=1, alpha=0.35, zorder=2),
    "dots": dict(linestyle="", markersize=1, alpha=0.35, zorder=2),
    "points": dict(linestyle="", markersize=5.5, zorder=5),
    "rings": dict(linestyle="", markerfacecolor=(0, 0, 0, 0), markersize=6.5, markeredgewidth=0.8, zorder=5),
    "reference": dict(marker="", linewidth=0.8, zorder=2, solid_capstyle="butt"),
    "bar": dict(marker="", linewidth=2.5, zorder=2, solid_capstyle="butt"),
}
# without times and versions: the same bytes every time
_METADATA: Any = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": "Ordinate"},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
_SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 7, "axes.titlesize": 7.5, "axes.labelsize": 7, "xtick.labelsize": 6.5, "ytick.labelsize": 6.5,
    "legend.fontsize": 6, "axes.linewidth": 0.6, "axes.axisbelow": True, "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,  # TrueType, embedded: publishers refuse type 3
    "text.parse_math": False,  # a name may hold a dollar sign
    "svg.hashsalt": "ordinate",
}  # fmt: skip


def save(figure: Figure, kinds: Iterable[str] = ("pdf", "png")) -> dict[str, bytes]:
    """The files of one picture, by their ending: also svg."""
    matplotlib = optional("matplotlib")
    with matplotlib.rc_context(_SETTINGS):
        sheet = _heat(figure) if isinstance(figure, Heat) else _chart(figure)
        files: dict[str, bytes] = {}
        for kind in kinds:
            sheet.savefig(out := io.BytesIO(), format=kind, dpi=300, metadata=_METADATA[kind])
            files[kind] = out.getvalue()
        return files


def vector(figure: Figure) -> bytes:
    """One picture for a page of the documentation, as SVG whose text is text."""
    matplotlib = optional("matplotlib")
    with matplotlib.rc_context(_SETTINGS | {"svg.fonttype": "none", "font.family": "sans-serif"}):
        sheet = _heat(figure) if isinstance(figure, Heat) else _chart(figure)
        sheet.savefig(out := io.BytesIO(), format="svg", metadata={"Date": None})
        return out.getvalue()


def _chart(chart: Chart) -> "Sheet":
    from matplotlib.figure import Figure as Sheet

    rows = len(chart.y_ticks)
    sheet = Sheet(figsize=(WIDTH, 0.7 + 0.19 * rows if rows else 2.5), layout="constrained")
    axes = sheet.add_subplot()
    for series in chart.series:
        _draw(axes, series)
    for line in chart.lines:
        axes.axhline(line.y, color="0.5", linewidth=0.6, linestyle=":", zorder=1)
        place: Any = axes.get_yaxis_transform()
        # beside the axes, where no curve can cross it
        axes.text(1.01, line.y, line.label, transform=place, ha="left", va="center", fontsize=5.5, color="0.35")
    if chart.shade:
        axes.axvspan(chart.shade.low, chart.shade.high, color="0.5", alpha=0.13, linewidth=0, zorder=0)
        place = axes.get_xaxis_transform()
        where = dict(transform=place, ha="left", va="top", fontsize=5.5, color="0.35")
        axes.text(chart.shade.low, 0.99, f" {chart.shade.label}", **where)
    axes.set_title(short(chart.title, 70), loc="left")
    axes.set_xlabel(chart.x_title)
    axes.set_ylabel(chart.y_title)
    _scale(axes, chart)
    _legend(sheet, chart)
    return sheet


def _draw(axes: "Axes", series: Series) -> None:
    """One series; gaps are NaN here."""
    x, y = (np.array([np.nan if v is None else v for v in values], dtype=float) for values in (series.x, series.y))
    y[~np.isfinite(y)] = np.nan
    own = series.style
    style = dict(color=own.color, marker=_MARKERS[own.marker], linestyle=_DASHES[own.dash], markeredgecolor=own.color)
    axes.plot(x, y, **(style | _LOOKS[series.look]))
    if series.look == "curve" and series.low:
        low, high = (np.array(side, dtype=float) for side in (series.low, series.high))
        axes.fill_between(x, low, high, color=series.style.color, alpha=0.18, linewidth=0, zorder=1)
    elif any(low is not None for low in series.low):
        ends = [
            [np.nan if end is None or y is None else abs(end - y) for end, y in zip(side, series.y, strict=True)]
            for side in (series.low, series.high)
        ]
        axes.errorbar(x, y, yerr=ends, ecolor=series.style.color, elinewidth=0.8, capsize=1.5, linestyle="", zorder=3)


def _scale(axes: "Axes", chart: Chart) -> None:
    if chart.log_x:
        axes.set_xscale("log")
    if chart.x_ticks:
        axes.set_xticks(chart.x_ticks, [f"{tick:g}" for tick in chart.x_ticks])
        axes.minorticks_off()
    if chart.y_ticks:
        axes.set_yticks([at for at, _ in chart.y_ticks], [short(name, 32) for _, name in chart.y_ticks])
        axes.grid(axis="y", linewidth=0.3, color="0.85")
    if chart.x_range:
        axes.set_xlim(*chart.x_range)
    if chart.y_range:
        axes.set_ylim(*chart.y_range)


def _legend(sheet: "Sheet", chart: Chart) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for series in (s for s in chart.series if s.label):
        style = dict(color=series.style.color, linestyle=_DASHES[series.style.dash], linewidth=1.2, markersize=3)
        marker = "" if series.look in ("reference", "curve") else _MARKERS[series.style.marker]
        # matplotlib leaves out labels that begin with an underscore
        label = f" {short(series.label)}" if series.label.startswith("_") else short(series.label)
        handles.append(Line2D([], [], **style, marker=marker, label=label))
    if handles:
        wide = max(len(str(handle.get_label())) for handle in handles) > 22
        sheet.legend(handles=handles, loc="outside lower center", ncols=2 if wide else 3, frameon=False)


def _labels(axes: "Axes", heat: Heat) -> None:
    if not heat.labels:
        axes.locator_params(nbins=4)
        return
    for labels, place in ((heat.labels, axes.set_xticks), (heat.row_labels or heat.labels, axes.set_yticks)):
        at = thin(len(labels), 40)
        place([heat.first + index for index in at], [short(labels[index], 16) for index in at])


def _heat(heat: Heat) -> "Sheet":
    """Panels on a fixed grid: matplotlib's own layout takes seconds for a dozen panels."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure as Sheet

    colors = LinearSegmentedColormap.from_list("signed", [COLD, NEUTRAL, WARM]) if heat.signed else "viridis"
    scale: Any = dict(vmin=-heat.top if heat.signed else 0, vmax=heat.top, cmap=colors)
    (down, across), first = heat.steps, heat.first - 0.5
    columns, rows = heat.columns, max(-(-len(heat.panels) // heat.columns), 1)
    left, right, top, bottom, gap = 0.34, 0.42, 0.38, 0.3, 0.14  # inches
    noted = any(panel.note for panel in heat.panels) and columns > 1
    gap_above = gap + 0.08 * noted
    side = min((WIDTH - left - right - gap * (columns - 1)) / columns, 2.9 if heat.labels else 2.2)
    height = top + bottom + rows * side + (rows - 1) * gap_above + 0.08 * noted
    sheet = Sheet(figsize=(WIDTH, height))
    sheet.text(left / WIDTH, 1 - 0.06 / height, short(heat.title, 70), fontsize=7.5, va="top")
    image = None
    for index, panel in enumerate(heat.panels):
        row, column = divmod(index, columns)
        x, y = left + column * (side + gap), bottom + (rows - 1 - row) * (side + gap_above)
        axes = sheet.add_axes((x / WIDTH, y / height, side / WIDTH, side / height))
        deep, wide = panel.values.shape
        edges = (first, first + wide * across, first + deep * down, first)
        aspect: Any = "equal" if heat.square else "auto"
        image = axes.imshow(panel.values, **scale, extent=edges, interpolation="nearest", aspect=aspect)
        between = "\n" if columns > 1 else ": "
        axes.set_title(f"{panel.title}{between}{panel.note}" if panel.note else panel.title, fontsize=5, pad=1.5)
        last = index + columns >= len(heat.panels)
        axes.tick_params(labelsize=4.5, length=1.5, width=0.4, pad=1, labelleft=column == 0, labelbottom=last)
        _labels(axes, heat)
        if heat.marks:
            at, size = np.array(heat.marks) + heat.first, (0.8 * 72 * side / max(deep, wide)) ** 2
            axes.scatter(at[:, 1], at[:, 0], s=size, marker="s", facecolors="none", edgecolors=MARK, linewidths=0.6)
        axes.set_ylabel(heat.y_title if column == 0 else "", fontsize=5.5, labelpad=1)
        axes.set_xlabel(heat.x_title if last else "", fontsize=5.5, labelpad=1)
    if image is not None:
        place = sheet.add_axes((1 - 0.36 / WIDTH, bottom / height, 0.06 / WIDTH, (height - top - bottom) / height))
        sheet.colorbar(image, cax=place).ax.tick_params(labelsize=4.5, length=1.5, width=0.4, pad=1)
    return sheet
