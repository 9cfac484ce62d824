"""What a figure shows; `draw_plotly` draws it on a page, `draw_matplotlib` in print."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ordinate.report.colors import Style
from ordinate.report.table import Column, Table

Number = float | None  # none: a gap
# mean: a line with markers; curve: one without, its interval an area; seed, dots: thin, behind; points, rings: large
# markers; reference: gray; bar: thick
Look = Literal["mean", "curve", "seed", "dots", "points", "rings", "reference", "bar"]


@dataclass(frozen=True)
class Series:
    """One curve, or a bundle of curves of one kind with a gap between each two."""

    name: str
    x: tuple[Number, ...]
    y: tuple[Number, ...]
    style: Style
    look: Look = "mean"
    label: str = ""  # in the legend; empty: not there
    low: tuple[Number, ...] = ()  # interval around y
    high: tuple[Number, ...] = ()
    group: str = ""  # series that are switched on and off together; empty: those of the same name


@dataclass(frozen=True)
class Line:
    """A level across the whole picture."""

    y: float
    label: str


@dataclass(frozen=True)
class Shade:
    """A part of the x axis that differs from the rest."""

    low: float
    high: float
    label: str


@dataclass(frozen=True)
class Chart:
    """Curves over one pair of axes."""

    name: str  # of its file
    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    lines: tuple[Line, ...] = ()
    shade: Shade | None = None
    log_x: bool = False
    x_ticks: tuple[float, ...] = ()  # empty: wherever they fit
    y_ticks: tuple[tuple[float, str], ...] = ()  # rows with names
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    note: str = ""
    task: str = ""  # empty: about several


@dataclass(frozen=True, eq=False)
class Panel:
    """One matrix: rows are queries, columns are keys."""

    title: str
    values: NDArray[np.float32]
    note: str = ""  # under the title
    rows: tuple[str, ...] = ()  # what there is to say of each row


@dataclass(frozen=True)
class Heat:
    """Matrices side by side, in one scale of colors that starts at zero, or has zero in its middle if `signed`."""

    name: str
    title: str
    x_title: str
    y_title: str
    panels: tuple[Panel, ...]
    columns: int
    block: int = 1  # so many positions each way are one cell
    note: str = ""
    task: str = ""
    row_block: int = 0  # so many rows are one cell; 0: as many as columns
    first: int = 0  # what the first row and the first column are called
    value: str = "weight"  # what a cell holds
    signed: bool = False
    square: bool = True  # cells are as high as wide; if not, the picture is filled
    row_height: int = 130  # of panels on a screen, in pixels
    labels: tuple[str, ...] = ()  # what stands at each position, along both axes; empty: positions are numbers
    row_labels: tuple[str, ...] = ()  # those of rows, if columns have others
    most: float | None = None  # the end of the scale; none: the largest value
    marks: tuple[tuple[int, int], ...] = ()  # rows and columns of cells to mark in every panel
    group: str = ""  # figures of one task that belong together

    @property
    def top(self) -> float:
        """The end of the scale."""
        if self.most is not None:
            return self.most
        finite = [panel.values[np.isfinite(panel.values)] for panel in self.panels]  # a diverged run has others too
        found = [np.abs(values) if self.signed else values for values in finite if values.size]
        return max((float(values.max()) for values in found), default=1.0) or 1.0

    @property
    def steps(self) -> tuple[int, int]:
        """Positions from one row to the next, and from one column to the next."""
        return self.row_block or self.block, self.block

    @property
    def columns_of_data(self) -> tuple[str, ...]:
        """What the numbers of a cell are called."""
        return ("panel", self.y_title, self.x_title, self.value)


Figure = Chart | Heat


def data(figure: Figure) -> Table:
    """The numbers that a picture shows, one row per point."""
    if isinstance(figure, Heat):
        columns = tuple(Column(name, name) for name in figure.columns_of_data)
        down, across = figure.steps
        named = bool(figure.row_labels)
        cells = tuple(
            (
                panel.title,
                figure.row_labels[row] if named else figure.first + row * down,
                figure.labels[column] if named else figure.first + column * across,
                six_digits(float(value)),
            )
            for panel in figure.panels
            for (row, column), value in np.ndenumerate(panel.values)
        )
        return Table(figure.name, figure.title, columns, cells)
    columns = tuple(Column(name, name) for name in ("series", "kind", "x", "y", "low", "high"))
    rows = tuple(
        (series.name, series.look, x, y, low, high)
        for series in figure.series
        for x, y, low, high in zip_longest(series.x, series.y, series.low, series.high)  # the last two may be empty
        if x is not None and y is not None and math.isfinite(y)
    )
    return Table(figure.name, figure.title, columns, rows)


def six_digits(value: Number) -> Number:
    """More than a screen shows, and half of a page's size; NaN and infinities become gaps."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def thin(count: int, most: int) -> list[int]:
    """Which of so many points to draw: evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return [round(index * (count - 1) / (most - 1)) for index in range(most)]


def short(name: str, most: int = 40) -> str:
    """A name that fits into a legend."""
    name = " ".join(name.split())
    return name if len(name) <= most else f"{name[: most - 15]}…{name[-14:]}"


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A name that any file system takes, for each name: letters, digits, dots and dashes, no two alike."""
    found: dict[str, str] = {}
    taken: dict[str, int] = {}  # with how many came to it
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.").lower()[:80] or "unnamed"
        tried = plain
        while tried in taken:
            taken[plain] += 1
            tried = f"{plain}-{taken[plain]}"
        taken[tried] = 1
        found[name] = tried
    return found
