"""Draws pictures for a page: plain dictionaries that plotly understands, without importing it."""

import base64
import html
import math
from typing import Any

import numpy as np

from ordinate.report.chart import Chart, Figure, Heat, Look, Panel, Series, short, six_digits, thin
from ordinate.report.colors import COLD, MARK, NEUTRAL, WARM
from ordinate.report.table import csv_field

# What a caller hands to plotly with a drawing. Its bar of buttons has one that uploads the data: not from here.
SETTINGS = {
    "responsive": True, "displaylogo": False, "showSendToCloud": False, "plotlyServerURL": "",
    "modeBarButtonsToRemove": ["select2d", "lasso2d"],
}  # fmt: skip

_FAINT = "rgba(128,128,128,0.14)"
_GRAY = "rgba(128,128,128,0.9)"
# mode, width of the line, size of the markers
_LOOKS: dict[Look, tuple[str, float, float]] = {
    "mean": ("lines+markers", 2.4, 7), "curve": ("lines", 2, 0), "seed": ("lines+markers", 1, 3),
    "dots": ("markers", 0, 3), "points": ("markers", 0, 13), "rings": ("markers", 0, 13),
    "reference": ("lines", 1.4, 0), "bar": ("lines", 6, 0),
}  # fmt: skip
_MOST_LABELS = 40  # along an axis
_SIGNED = [[0.0, COLD], [0.5, NEUTRAL], [1.0, WARM]]


def draw(figure: Figure) -> dict[str, Any]:
    """`data` and `layout`. Colors of text, ground and grid are left to the page, which knows whether it is dark."""
    return _heat(figure) if isinstance(figure, Heat) else _chart(figure)


def height(figure: Figure) -> int:
    """In pixels; the width is the page's."""
    if isinstance(figure, Heat):
        rows = max(-(-len(figure.panels) // figure.columns), 1)
        return 90 + figure.row_height * rows if figure.columns > 1 else max(90 + figure.row_height, 330)
    return 90 + 30 * len(figure.y_ticks) if figure.y_ticks else 420


def _chart(chart: Chart) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "autosize": True,
        "height": height(chart),
        "margin": {"l": 56, "r": 14, "t": 34, "b": 50},  # above: the buttons
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": -0.18, "yanchor": "top", "groupclick": "togglegroup"},
        "showlegend": any(series.label for series in chart.series),
        "xaxis": _axis(chart.x_title, chart.x_ticks, [f"{tick:g}" for tick in chart.x_ticks]),
        "yaxis": _axis(chart.y_title, [at for at, _ in chart.y_ticks], [name for _, name in chart.y_ticks]),
        "shapes": [],
        "annotations": [],
    }
    layout["xaxis"]["type"] = "log" if chart.log_x else "linear"
    if chart.x_range and not chart.log_x:
        layout["xaxis"]["range"] = list(chart.x_range)
    if chart.y_range:
        layout["yaxis"]["range"] = list(chart.y_range)
    if chart.shade:
        ends = {"x0": chart.shade.low, "x1": chart.shade.high, "y0": 0, "y1": 1, "yref": "paper"}
        layout["shapes"].append({"type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": _FAINT, **ends})
        left = math.log10(chart.shade.low) if chart.log_x else chart.shade.low  # plotly wants it so for words alone
        layout["annotations"].append(_words(chart.shade.label, x=left, y=1, yref="paper", yanchor="top"))
    for line in chart.lines:
        ends = {"x0": 0, "x1": 1, "xref": "paper", "y0": line.y, "y1": line.y}
        layout["shapes"].append({"type": "line", "line": {"color": _GRAY, "width": 1, "dash": "dot"}, **ends})
        beside = {"x": 1.005, "xref": "paper", "xanchor": "left"}  # where no curve can cross it
        layout["annotations"].append(_words(line.label, y=line.y, yanchor="middle", **beside))
    if chart.lines:
        layout["margin"]["r"] = 14 + 7 * max(len(line.label) for line in chart.lines)
    areas = [_area(series) for series in chart.series if series.look == "curve" and series.low]
    return {"data": areas + [_trace(series, named=bool(chart.y_ticks)) for series in chart.series], "layout": layout}


def _axis(title: str, ticks: Any, texts: list[str]) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": _text(title), "standoff": 8}, "automargin": True, "zeroline": False}
    if ticks:
        axis |= {"tickmode": "array", "tickvals": list(ticks), "ticktext": [_text(text) for text in texts]}
    return axis


def _words(text: str, **place: Any) -> dict[str, Any]:
    return {"text": _text(text), "showarrow": False, "font": {"size": 11}, "xanchor": "left", **place}


def _trace(series: Series, *, named: bool) -> dict[str, Any]:
    """One series. `kind` and `name` in `meta` are for the page's download of the data."""
    style, look = series.style, series.look
    mode, width, size = _LOOKS[look]
    trace: dict[str, Any] = {
        "type": "scatter", "mode": mode, "name": _text(series.label or series.name),
        "legendgroup": _text(series.group or series.name), "showlegend": bool(series.label),
        "x": [*map(six_digits, series.x)], "y": [*map(six_digits, series.y)],
        "meta": {"name": csv_field(series.name), "kind": look},
    }  # fmt: skip
    if width:
        trace["line"] = {"color": style.color, "width": width, "dash": "solid" if look == "seed" else style.dash}
    if size:
        trace["marker"] = {"color": style.color, "size": size, "symbol": style.marker}
    if look == "rings":
        trace["marker"] |= {"symbol": f"{style.marker}-open", "line": {"width": 2}}
    if look in ("seed", "dots"):
        trace |= {"opacity": 0.35, "hoverinfo": "skip"}
    else:
        trace["hovertemplate"] = "%{x}" + ("" if named else ": %{y:.4f}") + "<extra>%{fullData.name}</extra>"
    if any(low is not None for low in series.low):
        if look != "curve":
            trace["error_y"] = _error(series)
        trace["customdata"] = [[*map(six_digits, ends)] for ends in zip(series.low, series.high, strict=True)]
        interval = "%{x}: %{y:.4f}<br>95 %: %{customdata[0]:.4f} to %{customdata[1]:.4f}"
        trace["hovertemplate"] = f"{interval}<extra>%{{fullData.name}}</extra>"
    return trace


def _area(series: Series) -> dict[str, Any]:
    """What lies between the ends of a curve's intervals."""
    ends = [row for row in zip(series.x, series.low, series.high, strict=True) if None not in row]
    return {
        "type": "scatter", "mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": series.style.color,
        "opacity": 0.18, "hoverinfo": "skip", "showlegend": False, "legendgroup": _text(series.group or series.name),
        "x": [six_digits(x) for x, _, _ in ends] + [six_digits(x) for x, _, _ in reversed(ends)],
        "y": [six_digits(low) for _, low, _ in ends] + [six_digits(high) for _, _, high in reversed(ends)],
    }  # fmt: skip


def _error(series: Series) -> dict[str, Any]:
    """Intervals as plotly wants them: distances from the mean."""
    triples = list(zip(series.y, series.low, series.high, strict=True))
    up = [None if y is None or high is None else six_digits(high - y) for y, _, high in triples]
    down = [None if y is None or low is None else six_digits(y - low) for y, low, _ in triples]
    look = {"color": series.style.color, "thickness": 1.4, "width": 4}
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, **look}


def _heat(heat: Heat) -> dict[str, Any]:
    columns, rows = heat.columns, max(-(-len(heat.panels) // heat.columns), 1)
    margin = {"l": 46, "r": 10, "t": 34 if heat.labels else 44, "b": 40}
    layout: dict[str, Any] = {
        "autosize": True,
        "height": height(heat),
        "margin": margin,
        "annotations": [],
        "showlegend": False,
        "coloraxis": {
            "cmin": -heat.top if heat.signed else 0, "cmax": heat.top,
            "colorscale": _SIGNED if heat.signed else "Viridis", "colorbar": {"thickness": 10, "len": 0.9},
        },
    }  # fmt: skip
    (down, across), data = heat.steps, []
    inside = height(heat) - margin["t"] - margin["b"]
    title_part = max(0.1 / rows, (42 if any(panel.note for panel in heat.panels) and columns > 1 else 14) / inside)
    for index, panel in enumerate(heat.panels):
        row, column = divmod(index, columns)
        number = "" if index == 0 else str(index + 1)
        left, right = column / columns, (column + 1) / columns - 0.03
        bottom, top = 1 - (row + 1) / rows + 0.02, 1 - row / rows - title_part
        last = index + columns >= len(heat.panels)
        layout[f"xaxis{number}"] = {
            "domain": [left, right], "anchor": f"y{number}", "showticklabels": last, "nticks": 4, "ticks": "",
            "tickangle": 0, "tickfont": {"size": 9}, "zeroline": False, "showgrid": False, "constrain": "domain",
            "title": {"text": heat.x_title if last else "", "standoff": 2}, **_labels(heat, heat.labels),
        }  # fmt: skip
        layout[f"yaxis{number}"] = {
            "domain": [bottom, top], "anchor": f"x{number}", "showticklabels": column == 0, "nticks": 4, "ticks": "",
            "zeroline": False, "showgrid": False, "title": {"text": heat.y_title if column == 0 else "", "standoff": 2},
            "autorange": "reversed", "constrain": "domain", "constraintoward": "top",
            **_labels(heat, heat.row_labels or heat.labels),
        }  # fmt: skip
        if heat.marks:  # would make room for markers beyond the cells
            deep, wide = panel.values.shape
            layout[f"xaxis{number}"]["range"] = [heat.first - 0.5, heat.first + wide - 0.5]
            layout[f"yaxis{number}"] |= {"range": [heat.first + deep - 0.5, heat.first - 0.5], "autorange": False}
        if heat.square:
            layout[f"yaxis{number}"]["scaleanchor"] = f"x{number}"
        if panel.rows:  # a line along the row that is pointed at
            line = {"spikemode": "across", "spikethickness": 1, "spikedash": "solid", "spikecolor": _GRAY}
            layout[f"yaxis{number}"] |= {"showspikes": True, **line}
        middle = (left + right) / 2
        title = _words(panel.title, x=middle, xref="paper", xanchor="center", y=top, yref="paper", yanchor="bottom")
        if panel.note:
            # narrow panels stand close together: two short lines do not run into those of the next
            note = _text(panel.note)
            title["text"] += f": {note}" if columns == 1 else f"<br>{note.replace(' on ', ' on<br>')}"
            title["font"] = {"size": 11 if columns == 1 else 10}
        layout["annotations"].append(title)
        data.append({
            "type": "heatmap", "z": _packed(panel), "x0": heat.first, "dx": across, "y0": heat.first, "dy": down,
            "xaxis": f"x{number}", "yaxis": f"y{number}", "coloraxis": "coloraxis", "name": _text(panel.title),
            "meta": {"name": csv_field(panel.title), "kind": "heat", "columns": list(heat.columns_of_data),
                     "labels": [[*heat.row_labels], [*heat.labels]] if heat.row_labels else None},
            **_hover(heat, panel),
        })  # fmt: skip
    data += [_marks(heat, "" if index == 0 else str(index + 1)) for index in range(len(heat.panels)) if heat.marks]
    return {"data": data, "layout": layout}


def _labels(heat: Heat, labels: tuple[str, ...]) -> dict[str, Any]:
    """What stands at the positions, of many at some of them."""
    if not labels:
        return {}
    at = thin(len(labels), _MOST_LABELS)
    texts = [html.escape(short(labels[index], 16), quote=False) for index in at]
    font = {"size": 9 if len(labels) > 20 else 11}
    return {"tickfont": font, "tickmode": "array", "tickvals": [heat.first + index for index in at], "ticktext": texts}


def _hover(heat: Heat, panel: Panel) -> dict[str, Any]:
    """What is said of a cell, and of its row where there is something to say."""
    # %{y} would be a label where the axis has labels: rows say themselves which they are
    named = "%{customdata}" if panel.rows else f"{_text(heat.y_title)} %{{y}}, {_text(heat.x_title)} %{{x}}"
    shown = (
        f"{named}<br>{_text(heat.value)} here %{{z:.3f}}"
        if panel.rows
        else f"{named}<br>{_text(heat.value)} %{{z:.3f}}"
    )
    found: dict[str, Any] = {"hovertemplate": f"{shown}<extra>%{{fullData.name}}</extra>"}
    if panel.rows:
        texts = [html.escape(text, quote=False).replace("; ", "<br>") for text in panel.rows]
        found["customdata"] = [[text] * panel.values.shape[1] for text in texts]
    return found


def _marks(heat: Heat, axis: str) -> dict[str, Any]:
    """Open squares around marked cells."""
    cells = max(heat.panels[0].values.shape)
    size = max(3.0, min(22.0, 0.8 * heat.row_height / cells / heat.columns))
    return {
        "type": "scatter", "mode": "markers", "hoverinfo": "skip", "xaxis": f"x{axis}", "yaxis": f"y{axis}",
        "x": [heat.first + column for _, column in heat.marks], "y": [heat.first + row for row, _ in heat.marks],
        "marker": {"symbol": "square-open", "size": size, "color": MARK, "line": {"width": 1.5, "color": MARK}},
    }  # fmt: skip


def _packed(panel: Panel) -> dict[str, str]:
    values = np.ascontiguousarray(np.where(np.isfinite(panel.values), panel.values, np.nan), dtype="<f4")
    shape = ", ".join(map(str, values.shape))
    return {"dtype": "f4", "bdata": base64.b64encode(values.tobytes()).decode(), "shape": shape}


def _text(text: str) -> str:
    """Plotly reads a part of HTML in every text: a name must not be able to use it."""
    return html.escape(short(text), quote=False)
