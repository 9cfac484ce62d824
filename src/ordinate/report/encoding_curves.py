"""From measurements of an encoding to charts by distance and by wavelength, and to maps of a grid."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext
from ordinate.probes import encoding_effects as effects
from ordinate.probes.encoding_effects import Setting
from ordinate.report.chart import Chart, Heat, Number, Panel, Series, Shade, six_digits, thin
from ordinate.report.colors import DASHES, Style, styles

MOST_CURVES, MOST_PANELS = 8, 4
MOST_POINTS = 256  # of a curve
SIDE = 15  # rows and columns of a map: odd, so that there is a middle

Picture = TypeVar("Picture")
Numbers = NDArray[np.float32]
Summary = tuple[Tensor, Tensor | None]  # means [h, k], and the lower and the upper end of 95 % of the draws [2, h, k]
Measure = Callable[[AttentionContext, int], Summary]  # of the query at this index, with all keys


@dataclass(frozen=True)
class Case:
    """An encoding under its name in the command, in its setting."""

    name: str
    encoding: Encoding
    setting: Setting


@dataclass(frozen=True, eq=False)
class Measured:
    """Numbers along an axis, with the ends between which 95 % of the draws lie, if there are draws."""

    label: str
    x: Tensor
    y: Tensor
    ends: Tensor | None = None  # [2, n]


def draw_all(encoding: Encoding, seed: int, draw: Callable[[], Iterator[Picture]]) -> tuple[str, list[Picture]]:
    """A remark to print with the pictures, or empty, and the pictures."""
    pictures, trained = list(draw()), any(True for _ in encoding.parameters())
    if pictures:
        return "Drawn as it is before training." if trained else "", pictures
    if not trained:
        return "Nothing to draw: it leaves every embedding and every score as it is.", []
    effects.shaken(encoding, seed)
    return "Before training it changes nothing: drawn with random values in place of trained ones.", list(draw())


def summary(draws: Tensor) -> Summary:
    """Of [draws, h, k]."""
    return draws.mean(dim=0), torch.quantile(draws, torch.tensor([0.025, 0.975]), dim=0)


def by_distance(case: Case, name: str, title: str, y_title: str, note: str, measure: Measure) -> Iterator[Chart]:
    """What a query has to do with keys, by distance, along every axis.

    Where the position of a query matters too, sequences of the trained length and longer ones are drawn apart.
    """
    encoding, setting = case.encoding, case.setting
    axes = encoding.shape.axes
    counts = [setting.reach]
    if not encoding.shift_invariant and setting.reach > setting.length:
        counts.insert(0, setting.length)
    curves: list[Measured] = []
    for axis in range(axes):
        for count in counts:
            words = [f"axis {axis + 1}"] * (axes > 1) + [f"{count} positions"] * (len(counts) > 1)
            curves += _of_sequence(case, axis, count, ", ".join(words), measure, len(counts) * axes)
    if len(curves) > len(counts) * axes:
        curves = [Measured(curve.label, curve.x, curve.y) for curve in curves]
    yield from distance_chart(case, name, title, y_title, note, curves)


def _of_sequence(case: Case, axis: int, count: int, words: str, measure: Measure, share: int) -> Iterator[Measured]:
    """The last query looks back; where queries look both ways, the first looks ahead."""
    encoding = case.encoding
    whole = encoding.feature_width > 0 or encoding.overrides("score_mod")  # reads every token in between
    context, at = effects.along(encoding, axis, count, 1 if whole else -(-count // MOST_POINTS))
    last = len(at) - 1
    mean, ends = measure(context, last)
    mean, x = mean.flip(-1), at[last] - at.flip(0)
    ends = None if ends is None else ends.flip(-1)
    if not encoding.shape.causal:
        ahead, ahead_ends = measure(context, 0)
        mean, x = torch.cat((ahead.flip(-1)[:, :-1], mean), dim=-1), torch.cat((at[0] - at.flip(0)[:-1], x))
        if ends is not None and ahead_ends is not None:
            ends = torch.cat((ahead_ends.flip(-1)[..., :-1], ends), dim=-1)
    some = thin(len(x), 2 * MOST_POINTS)
    drawn = list(heads(mean, max(MOST_CURVES // share, 1)))
    for label, values in drawn:
        whole_label = ", ".join(filter(None, (label, words)))
        kept = ends[:, 0, some] if ends is not None and len(drawn) == 1 else None
        yield Measured(whole_label, x[some], values[some], kept)


def distance_chart(
    case: Case, name: str, title: str, y_title: str, note: str, curves: Sequence[Measured]
) -> Iterator[Chart]:
    """Curves over the distance from query back to key, unless nothing changes with it."""
    if all(flat(values) for curve in curves for values in (curve.y, *(() if curve.ends is None else curve.ends))):
        return
    length, ahead = case.setting.length, min(float(curve.x.min()) for curve in curves)
    way = "query position - key position" if ahead < 0 else "positions back from the query"
    shade = Shade(max(ahead, 1.0 - length), length - 1, "trained distances")
    series = chart_series(case, curves)
    yield Chart(f"{case.name} {name}", title, way, y_title, series, shade=shade, note=note)


def wavelengths(case: Case, turns: Mapping[str, Numbers]) -> Chart:
    """Channels over their wavelengths: `turns` holds an angle per channel, [steps, e]."""
    series, length = [], case.setting.length
    still = int((np.stack([angles.max(axis=0) for angles in turns.values()]) <= 1e-9).all(axis=0).sum())
    for (label, angles), style in zip(turns.items(), _shades(case.name, len(turns)), strict=True):
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
    if case.encoding.feature_width:
        note += " Content decides how far a token turns: drawn is the median over tokens with random contents."
    return Chart(
        f"{case.name} wavelengths", "Wavelength of each channel", "positions per turn", "channel", tuple(series),
        shade=Shade(2, max(length, 2), "a whole turn is trained"), log_x=True, note=note,
    )  # fmt: skip


def side(case: Case) -> int:
    """Of the square that is drawn: within the trained range, and odd."""
    fits = min(SIDE, case.setting.length, case.setting.reach)
    return max(fits - 1 + fits % 2, 1)


def grid_map(case: Case, name: str, title: str, values: Tensor, value: str) -> Iterator[Heat]:
    """Maps around the middle of a grid, of [h, cells of a square], unless all cells are alike."""
    if not flat(values):
        note = "The query is in the middle; each cell is a key, so many rows (axis 1) and columns (axis 2) away."
        square = values.unflatten(-1, (side(case), side(case)))
        drawn = matrices(case, name, title, square, 1, value, f"{note} Empty: not seen.")
        yield replace(drawn, x_title="columns", y_title="rows", first=-(side(case) // 2))


def matrices(case: Case, name: str, title: str, values: Tensor, block: int, value: str, note: str) -> Heat:
    """Queries by keys, one panel per head."""
    drawn = tuple(Panel(label, array(matrix)) for label, matrix in heads(values, MOST_PANELS))
    return Heat(
        f"{case.name} {name}", title, "key", "query", drawn, min(len(drawn), 2), block, note, value=value, signed=True,
        row_height=220,
    )  # fmt: skip


def heads(values: Tensor, most: int) -> Iterator[tuple[str, Tensor]]:
    """Some of the heads, evenly spread; one for all if they agree."""
    if all(torch.allclose(values[0], other, rtol=1e-3, atol=1e-6, equal_nan=True) for other in values[1:]):
        yield "", values[0]
        return
    for head in thin(len(values), most) if most > 1 else [0]:
        yield f"head {head + 1}", values[head]


def flat(values: Tensor) -> bool:
    """Whether all numbers are the same, but for rounding."""
    finite = values[values.isfinite()]
    return not finite.numel() or bool(finite.max() - finite.min() <= 1e-6 * max(1.0, finite.abs().max().item()))


def array(values: Tensor) -> Numbers:
    found: Numbers = values.detach().float().numpy()
    return found


def chart_series(case: Case, lines: Sequence[Measured]) -> tuple[Series, ...]:
    """Curves in shades of the encoding's color."""
    found = []
    for line, style in zip(lines, _shades(case.name, len(lines)), strict=True):
        low, high = ((), ()) if line.ends is None else map(_plain, array(line.ends))
        x, y = _plain(array(line.x)), _plain(array(line.y))
        found.append(Series(line.label or "mean", x, y, style, "curve", line.label, low, high))
    return tuple(found)


def _plain(values: NDArray[np.generic]) -> tuple[Number, ...]:
    return tuple(map(six_digits, values.tolist()))


def _shades(encoding: str, count: int) -> list[Style]:
    """The encoding's own color, from darker to lighter, with dashes to tell them apart."""
    own = styles([encoding])[encoding]
    if count == 1:
        return [Style(own.color)]
    parts = [int(own.color[start : start + 2], 16) for start in (1, 3, 5)]
    found = []
    for index in range(count):
        light = -0.1 + 0.65 * index / (count - 1)  # seen on white ground and on dark
        mixed = [round(part + (255 - part) * light if light > 0 else part * (1 + light)) for part in parts]
        found.append(Style("#{:02X}{:02X}{:02X}".format(*mixed), DASHES[index % len(DASHES)], own.marker))
    return found
