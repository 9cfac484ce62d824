"""From measurements of an encoding to curves by distance and maps of a grid."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext
from ordinate.report import encoding_charts as charts
from ordinate.report import encoding_numbers as numbers
from ordinate.report.chart import Chart, Heat, Panel, thin
from ordinate.report.encoding_charts import Measured, Numbers
from ordinate.report.encoding_numbers import Setting

MOST_CURVES, MOST_PANELS = 8, 4
MOST_POINTS = 256  # of a curve
NOTHING = "Nothing to draw: it leaves every embedding and every score as it is."
UNTRAINED = "Drawn as it is before training."
UNTRAINED_RANDOM = "Before training it changes nothing: drawn with random values in place of trained ones."
SIDE = 15  # rows and columns of a map: odd, so that there is a middle

Summary = tuple[Tensor, Tensor | None]  # means [h, k], and the lower and the upper end of 95 % of the draws [2, h, k]


@dataclass(frozen=True)
class Case:
    """An encoding under the name that it was asked for, in its setting."""

    name: str
    encoding: Encoding
    setting: Setting


def summary(draws: Tensor) -> Summary:
    """Of [draws, h, k]."""
    return draws.mean(dim=0), torch.quantile(draws, torch.tensor([0.025, 0.975]), dim=0)


def distance_curves(case: Case, measure: Callable[[AttentionContext, int], Summary]) -> list[Measured]:
    """What a query has to do with keys, by distance, along every axis; `measure` is asked for single queries.

    Where the place of a query matters too, sequences of the trained length and longer ones are drawn apart.
    """
    encoding, setting = case.encoding, case.setting
    axes = encoding.shape.axes
    counts = [setting.reach]
    if not encoding.shift_invariant and setting.reach > setting.length:
        counts.insert(0, setting.length)
    rows: list[tuple[str, Tensor, Tensor, Tensor | None]] = []
    for axis in range(axes):
        for count in counts:
            words = [f"axis {axis + 1}"] * (axes > 1) + [f"{count} positions"] * (len(counts) > 1)
            rows += _of_sequence(case, axis, count, ", ".join(words), measure, len(counts) * axes)
    single = len(rows) <= len(counts) * axes
    return [
        Measured(label, *arrays(x, y), *(() if ends is None or not single else arrays(*ends)))
        for label, x, y, ends in rows
    ]


def _of_sequence(
    case: Case, axis: int, count: int, words: str, measure: Callable[[AttentionContext, int], Summary], share: int
) -> Iterator[tuple[str, Tensor, Tensor, Tensor | None]]:
    """The last query looks back; where queries look both ways, the first looks ahead."""
    encoding = case.encoding
    whole = encoding.feature_width > 0 or encoding.overrides("score_mod")  # reads every token in between
    context, at = numbers.along(encoding, axis, count, 1 if whole else -(-count // MOST_POINTS))
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
        yield whole_label, x[some], values[some], ends[:, 0, some] if ends is not None and len(drawn) == 1 else None


def by_distance(case: Case, name: str, title: str, y_title: str, curves: list[Measured], note: str) -> Iterator[Chart]:
    """The chart of such curves, unless nothing changes with distance."""
    known = [array for curve in curves for array in (curve.y, curve.low, curve.high) if array is not None]
    if all(flat(torch.from_numpy(values)) for values in known):
        return
    length = case.setting.length
    yield charts.by_distance(f"{case.name} {name}", title, y_title, curves, length, case.name, note)


def side(case: Case) -> int:
    """Of the square that is drawn: within the trained range, and odd."""
    fits = min(SIDE, case.setting.length, case.setting.reach)
    return max(fits - 1 + fits % 2, 1)


def map_panels(case: Case, name: str, title: str, values: Tensor, value: str) -> Iterator[Heat]:
    """Maps of [h, cells of a square], unless all cells are alike."""
    rows = side(case)
    if flat(values):
        return
    yield charts.around(f"{case.name} {name}", title, panels(values.unflatten(-1, (rows, rows))), value)


def panels(values: Tensor) -> list[Panel]:
    """Matrices of some heads."""
    return [Panel(label, array(matrix)) for label, matrix in heads(values, MOST_PANELS)]


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


def arrays(*values: Tensor) -> tuple[Numbers, ...]:
    return tuple(array(one) for one in values)
