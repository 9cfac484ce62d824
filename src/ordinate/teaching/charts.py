"""Figures and tables from plain numbers, for lessons."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ordinate.report.chart import Chart, Heat, Line, Look, Panel, Series, Shade
from ordinate.report.colors import DASHES, MARKERS, PALETTE, Style
from ordinate.report.table import Column, Table

Numbers = Sequence[float] | torch.Tensor


def floats(values: Numbers) -> tuple[float, ...]:
    """Plain numbers from whatever holds them."""
    return tuple(float(value) for value in (values.flatten() if isinstance(values, torch.Tensor) else values))


def look_of(index: int) -> Style:
    """The look of the curve with this number."""
    at = index % len(PALETTE)
    return Style(PALETTE[at], DASHES[index // len(PALETTE) % len(DASHES)], MARKERS[at])


def curves(
    title: str,
    x_title: str,
    y_title: str,
    ys: Mapping[str, Numbers],
    x: Numbers | None = None,
    *,
    look: Look = "curve",
    lines: Sequence[Line] = (),
    shade: Shade | None = None,
    y_range: tuple[float, float] | None = None,
    log_x: bool = False,
    note: str = "",
) -> Chart:
    """One curve for each name, over `x` or over 0, 1, 2, ...; a single one needs no legend."""
    series = []
    for index, (name, values) in enumerate(ys.items()):
        own = floats(values)
        at = floats(x) if x is not None else tuple(map(float, range(len(own))))
        series.append(Series(name, at[: len(own)], own, look_of(index), look, label=name if len(ys) > 1 else ""))
    return Chart(
        title.lower().replace(" ", "-"), title, x_title, y_title, tuple(series), lines=tuple(lines), shade=shade,
        y_range=y_range, log_x=log_x, note=note,
    )  # fmt: skip


def heat(
    title: str,
    x_title: str,
    y_title: str,
    panels: Mapping[str, torch.Tensor],
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    side_by_side: int = 0,
    signed: bool = True,
    value: str = "value",
    square: bool = False,
    row_height: int = 130,
    most: float | None = None,
    note: str = "",
) -> Heat:
    """Matrices side by side in one scale; `rows` and `columns` name the cells."""
    drawn = tuple(Panel(name, values.detach().float().numpy()) for name, values in panels.items())
    across = columns or [str(index) for index in range(drawn[0].values.shape[1])]
    return Heat(
        title.lower().replace(" ", "-"), title, x_title, y_title, drawn, side_by_side or len(drawn), note=note,
        value=value, signed=signed, square=square, row_height=row_height, labels=tuple(across),
        row_labels=tuple(rows), most=most,
    )  # fmt: skip


def table(title: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]], note: str = "") -> Table:
    """Rows under columns, each with the format of its numbers."""
    heads = tuple(Column(name, name, form) for name, form in columns.items())
    return Table(title.lower().replace(" ", "-"), title, heads, [tuple(row) for row in rows], note=note)
