"""Charts of what encodings do, from plain arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ordinate.report.chart import Chart, Heat, Panel, Series, Shade
from ordinate.report.colors import DASHES, Style, styles

Numbers = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Measured:
    """Numbers along an axis, with the ends between which 95 % of the draws lie, if there are draws."""

    label: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None


def vectors(name: str, values: Numbers, *, block: int, row_block: int) -> Heat:
    """Channels by position."""
    note = (
        "Each column is the vector added at one position, beside token embeddings of size 1. Red is above zero, blue"
        " below; fast channels change from column to column, slow ones keep their color."
    )
    if row_block > 1:
        note += f" One channel in {row_block} is drawn."
    return Heat(
        f"{name} table", "What is added, by position and channel", "position", "channel", (Panel("", values),), 1,
        block, note, row_block=row_block, value="value", signed=True, square=False,
    )  # fmt: skip


def similarity(name: str, values: Numbers, block: int) -> Heat:
    """Positions by positions."""
    note = (
        "The cosine of the vectors of two positions. Red: the two look alike; blue: opposite. A band along the diagonal"
        " means that neighbors are alike; stripes along it mean that only the distance counts."
    )
    return Heat(
        f"{name} similarity", "Similarity of positions", "position", "other position", (Panel("", values),), 1, block,
        note, value="cosine", signed=True, row_height=330,
    )  # fmt: skip


def familiar(name: str, lines: Sequence[Measured], length: int) -> Chart:
    """What the vectors of positions have in common with trained ones."""
    note = (
        "Past the shaded part nothing was trained. Where no trained position is similar (the first line falls), or the"
        " size leaves 1, the model meets vectors that it has never seen."
    )
    return Chart(
        f"{name} past", "Past the trained positions", "position", "cosine, size", _series(lines, name),
        shade=Shade(0, length - 1, "trained"), note=note,
    )  # fmt: skip


def by_distance(
    name: str, title: str, y_title: str, lines: Sequence[Measured], length: int, encoding: str, note: str
) -> Chart:
    """Curves over the distance from query back to key."""
    ahead = min((float(line.x.min()) for line in lines), default=0.0)
    way = "query position - key position" if ahead < 0 else "positions back from the query"
    shade = Shade(max(ahead, 1.0 - length), length - 1, "trained distances")
    return Chart(name, title, way, y_title, _series(lines, encoding), shade=shade, note=note)


def wavelengths(name: str, turns: Mapping[str, Numbers], spread: bool, length: int) -> Chart:
    """Channels over their wavelengths: `turns` holds an angle per channel, [steps, e]."""
    series, looks = [], _shades(name, len(turns))
    still = int((np.stack([angles.max(axis=0) for angles in turns.values()]) <= 1e-9).all(axis=0).sum())
    for (label, angles), style in zip(turns.items(), looks, strict=True):
        angle = np.median(angles, axis=0)
        moving = np.flatnonzero(angle > 1e-9)
        waves = 2 * np.pi / angle[moving]
        legend = label if len(turns) > 1 else ""
        again = np.flatnonzero(np.diff(waves) < 0) + 1  # the next channels begin with fast ones: no line back to them
        x, y = np.insert(waves, again, np.nan), np.insert(moving.astype(float), again, np.nan)
        series.append(Series(label or "channels", _plain(x), _plain(y), style, label=legend))
    note = "Each mark is a channel: so many positions and it has turned once. Those in the shaded part turn at least"
    note += " once within the trained length; those right of it have never shown a whole turn."
    if still:
        note += f" {still} channels do not turn."
    if spread:
        note += " Content decides how far a token turns: drawn is the median over tokens with random contents."
    return Chart(
        f"{name} wavelengths", "Wavelength of each channel", "positions per turn", "channel", tuple(series),
        shade=Shade(2, max(length, 2), "a whole turn is trained"), log_x=True, note=note,
    )  # fmt: skip


def channels(name: str, panels: Mapping[str, Numbers], *, block: int) -> Heat:
    """What single channels add to a score, by distance."""
    note = (
        "A channel that is 1 in query and key: its part in their score by distance, a cosine where it turns by a fixed"
        " angle. Columns that look alike are distances that cannot be told apart."
    )
    return Heat(
        f"{name} channels", "What each channel adds to the score", "distance", "channel",
        tuple(Panel(label, values) for label, values in panels.items()), min(len(panels), 2), block, note, row_block=1,
        value="part", signed=True, square=False, row_height=220,
    )  # fmt: skip


def matrices(name: str, title: str, panels: Iterable[Panel], block: int, value: str, note: str) -> Heat:
    """Queries by keys, one panel per head."""
    drawn = tuple(panels)
    return Heat(
        name, title, "key", "query", drawn, min(len(drawn), 2), block, note, value=value, signed=True, row_height=220
    )  # fmt: skip


def around(name: str, title: str, panels: Iterable[Panel], value: str) -> Heat:
    """Maps around the middle of a grid."""
    drawn = tuple(panels)
    note = "The query stands in the middle; each cell is a key, so many rows (axis 1) and columns (axis 2) away."
    note += " Empty: not seen."
    first = -(len(drawn[0].values) // 2)
    return Heat(
        name, title, "columns", "rows", drawn, min(len(drawn), 2), note=note, first=first, value=value, signed=True,
        row_height=220,
    )  # fmt: skip


def _series(lines: Sequence[Measured], encoding: str) -> tuple[Series, ...]:
    looks = _shades(encoding, len(lines))
    return tuple(
        Series(
            line.label or "mean", _plain(line.x), _plain(line.y), style, "curve", line.label,
            () if line.low is None else _plain(line.low), () if line.high is None else _plain(line.high),
        )
        for line, style in zip(lines, looks, strict=True)
    )  # fmt: skip


def _plain(values: NDArray[np.generic]) -> tuple[float | None, ...]:
    """Six digits; NaN and infinities become None."""
    return tuple(float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist())


def _shades(encoding: str, count: int) -> list[Style]:
    """The encoding's own color, from darker to lighter, with dashes to tell them apart."""
    own = styles([encoding])[encoding]
    if count == 1:
        return [Style(own.color)]
    red, green, blue = (int(own.color[start : start + 2], 16) for start in (1, 3, 5))
    found = []
    for index in range(count):
        light = -0.1 + 0.65 * index / (count - 1)  # seen on white ground and on dark
        mixed = [round(part + (255 - part) * light if light > 0 else part * (1 + light)) for part in (red, green, blue)]
        found.append(Style("#{:02X}{:02X}{:02X}".format(*mixed), DASHES[index % len(DASHES)], own.marker))
    return found
