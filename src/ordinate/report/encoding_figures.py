"""Which pictures an encoding gets: its hooks decide, never its name."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.parsing import parse_choice
from ordinate.core.positions import AttentionContext
from ordinate.probes import encoding_effects as effects
from ordinate.probes.encoding_effects import Setting
from ordinate.report import encoding_curves as curves
from ordinate.report.chart import Chart, Figure, Heat, Panel, Shade, file_names
from ordinate.report.encoding_curves import Case, Measured, Summary, array, side

MOST_POINTS = 256  # along a table, and of a curve
MOST_CELLS = 128  # along the side of a matrix
MOST_CHANNELS = 128  # of a table
MOST_TOKENS = 128  # that attend to each other

VECTORS = (
    "Each column is the vector added at one position, beside token embeddings of size 1. Red is above zero, blue"
    " below; fast channels change from column to column, slow ones keep their color."
)
SIMILARITY = (
    "The cosine of the vectors of two positions. Red: the two look alike; blue: opposite. A band along the diagonal"
    " means that neighbors are alike; stripes along it mean that only the distance counts."
)
PAST = (
    "Past the shaded part nothing was trained. Where no trained position is similar (the first line falls), or the"
    " size leaves 1, the model meets vectors that it has never seen."
)
TAKEN = "Root mean square of what reaches a token from one whose embedding is all ones, by distance."
EQUAL = (
    "Queries and keys are the same random unit vectors at every position: the mean over them, and the range of 95 % of"
    " them where all heads agree. High: a key equal to the query stands out at that distance."
)
CHANNELS = (
    "A channel that is 1 in query and key: its part in their score by distance, a cosine where it turns by a fixed"
    " angle. Columns that look alike are distances that cannot be told apart."
)
BIAS = "What is added to the score of a key so far away. Past the shaded part no distance was trained."
MATRIX = "Rows are queries, columns keys: blue lowers a score, red raises it. What a query does not see is empty."
CHANGE = "Queries and keys are random: the mean change of their score, and the range of 95 % of the changes."
PREFERENCE = (
    "Attention weights over an even share, their mean over random contents: 0 is as much as if all keys were"
    " alike, 1 (red) twice, -1 (blue) half as much."
)


@dataclass(frozen=True)
class EncodingFigures:
    """Pictures, with what must be said beside them."""

    figures: tuple[Figure, ...]
    remarks: tuple[str, ...]
    refusal: str  # why nothing is drawn past some position, or empty


def encoding_figures(text: str, setting: Setting) -> EncodingFigures:
    """All pictures of an encoding as people write it, `name` or `name(key=value)`."""
    choices = parse_choice(text)
    if len(choices) != 1:
        raise InputError(f"one encoding at a time, got {text!r}")
    encoding = effects.make(choices[0].name, dict(choices[0].parameters), setting).eval()
    setting, refusal = effects.within(encoding, setting)
    case = Case(choices[0].name, encoding, setting)
    remark, found = curves.draw_all(encoding, setting.seed, lambda: _figures(case))
    names = file_names(figure.name for figure in found)
    figures = tuple(replace(figure, name=names[figure.name]) for figure in found)
    return EncodingFigures(figures, (*filter(None, [remark]), *_what_is_drawn(encoding)), refusal)


def _what_is_drawn(encoding: Encoding) -> Iterator[str]:
    """What the drawn tokens are, for encodings that look at more than positions."""
    if "tokens" in encoding.extra_inputs:
        yield f"The drawn text is {effects.TEXT.strip()} again and again."
    if "segments" in encoding.extra_inputs:
        yield "The second half of the drawn tokens is another segment."
    if "relation" in encoding.extra_inputs:
        yield "The relation of two drawn tokens is their distance."
    if encoding.feature_width:
        yield "The contents of the drawn tokens are random."


def _figures(case: Case) -> Iterator[Figure]:
    encoding = case.encoding
    if encoding.overrides("embed"):
        yield from _added(case)
    if encoding.overrides("rotate", "qk_scores"):
        yield from _turned(case)
    if encoding.has_bias:
        yield from _biased(case)
    if encoding.overrides("qk_scores", "score_mod") and encoding.family != "rotation":
        yield from _changed(case)


def _added(case: Case) -> Iterator[Figure]:
    encoding, length, reach = case.encoding, case.setting.length, case.setting.reach
    context, at = effects.along(encoding, 0, reach)
    values = effects.added(encoding, context)
    if not values.any():
        yield from _taken(case)
        return
    if encoding.shape.axes > 1:
        cells = effects.added(encoding, effects.on_grid(encoding, side(case)))
        alike = torch.cosine_similarity(cells, cells[len(cells) // 2][None], dim=-1)
        yield from curves.grid_map(case, "map", "Similarity around the middle of a grid", alike[None], "cosine")
    down = -(-encoding.shape.dim // MOST_CHANNELS)
    down += 1 - down % 2  # odd, so that sines and cosines that take turns both stay
    across = -(-reach // (2 * MOST_POINTS))
    vectors = (Panel("", array(values[::across, ::down].t())),)
    yield Heat(
        f"{case.name} table", "What is added, by position and channel", "position", "channel", vectors, 1, across,
        VECTORS + f" One channel in {down} is drawn." * (down > 1), row_block=down, value="value", signed=True,
        square=False,
    )  # fmt: skip
    unit, size = torch.nn.functional.normalize(values, dim=-1), values.norm(dim=-1)
    step = -(-reach // MOST_CELLS)
    cosines = (Panel("", array(unit[::step] @ unit[::step].t())),)
    yield Heat(
        f"{case.name} similarity", "Similarity of positions", "position", "other position", cosines, 1, step,
        SIMILARITY, value="cosine", signed=True, row_height=330,
    )  # fmt: skip
    trained, some = unit[:length], at[:: -(-reach // MOST_POINTS)]
    middle = len(trained) // 2
    lines = [
        Measured("most similar trained position", some, (unit[some] @ trained.t()).amax(dim=-1)),
        Measured(f"similarity with position {middle}", some, unit[some] @ unit[middle]),
        Measured("size (1: mean of the trained)", some, size[some] / size[:length].mean()),
    ]
    yield Chart(
        f"{case.name} past", "Past the trained positions", "position", "cosine, size",
        curves.chart_series(case, lines), shade=Shade(0, length - 1, "trained"), note=PAST,
    )  # fmt: skip


def _taken(case: Case) -> Iterator[Figure]:
    """For encodings that add what neighbors hold."""
    encoding, title = case.encoding, "How much a token takes from its neighbors"
    if encoding.shape.axes > 1:
        context = effects.on_grid(encoding, side(case))
        arrived = effects.taken(encoding, context, context.k.length // 2)
        yield from curves.grid_map(case, "map", title, arrived[None], "share")
        return
    context, at = effects.along(encoding, 0, case.setting.length)
    giver = 0 if encoding.shape.causal else case.setting.length // 2
    lines = [Measured("", at - giver, effects.taken(encoding, context, giver))]
    yield from curves.distance_chart(case, "taken", title, "what arrives", TAKEN, lines)


def _turned(case: Case) -> Iterator[Figure]:
    encoding, seed = case.encoding, case.setting.seed

    def measure(context: AttentionContext, looks: int) -> Summary:
        return curves.summary(effects.equal_scores(encoding, context, looks, seed))

    yield from curves.by_distance(case, "score", "Score of equal vectors, by distance", "score", EQUAL, measure)
    if encoding.shape.axes > 1:
        context = effects.on_grid(encoding, side(case))
        scores = effects.equal_scores(encoding, context, context.k.length // 2, seed).mean(dim=0)
        yield from curves.grid_map(case, "map", "Score of equal vectors around the middle of a grid", scores, "score")
    if encoding.overrides("rotate"):
        yield from _channels(case)


def _channels(case: Case) -> Iterator[Figure]:
    encoding, setting = case.encoding, case.setting
    axes, angles, panels = range(encoding.shape.axes), {}, list[Panel]()
    step = -(-setting.reach // MOST_POINTS)
    for axis in axes:
        turned = effects.turns(encoding, axis, setting.seed)
        if turned is None or not (turned > 1e-9).any():
            continue
        prefix = f"axis {axis + 1}" if len(axes) > 1 else ""
        for label, angle in curves.heads(turned.movedim(1, 0), most=4):
            angles[", ".join(filter(None, (prefix, label)))] = array(angle)
        if not encoding.feature_width:
            panels.append(Panel(prefix, array(effects.channel_scores(encoding, axis, setting.reach, step))))
    if angles:
        yield curves.wavelengths(case, angles)
    if panels:
        yield Heat(
            f"{case.name} channels", "What each channel adds to the score", "distance", "channel", tuple(panels),
            min(len(panels), 2), step, CHANNELS, row_block=1, value="part", signed=True, square=False, row_height=220,
        )  # fmt: skip


def _biased(case: Case) -> Iterator[Figure]:
    encoding = case.encoding

    def measure(context: AttentionContext, looks: int) -> Summary:
        values = effects.biases(encoding, context)
        assert values is not None
        return values[:, looks], None

    yield from curves.by_distance(case, "bias", "Bias by distance", "bias", BIAS, measure)
    if encoding.shape.axes > 1:
        context = effects.on_grid(encoding, side(case))
        values, _ = measure(context, context.k.length // 2)
        yield from curves.grid_map(case, "bias map", "Bias around the middle of a grid", values, "bias")
        return
    step = -(-case.setting.reach // MOST_CELLS)
    context, _ = effects.along(encoding, 0, case.setting.reach, step)
    matrix = effects.biases(encoding, context)
    if matrix is None or curves.flat(matrix):
        return
    if context.visible is not None:
        matrix = matrix.masked_fill(~context.visible[0], torch.nan)
    yield curves.matrices(case, "bias matrix", "Bias of queries and keys", matrix, step, "bias", MATRIX)


def _changed(case: Case) -> Iterator[Figure]:
    encoding, setting = case.encoding, case.setting

    def measure(context: AttentionContext, looks: int) -> Summary:
        changed = effects.changes(encoding, context, looks, setting.seed)
        return curves.summary(changed.flatten(0, 1)[:, None])  # all heads together

    title = "Change of scores, random contents"
    drawn = list(curves.by_distance(case, "change", title, "change", CHANGE, measure))
    yield from drawn
    if drawn and encoding.shape.axes == 1:
        context, _ = effects.along(encoding, 0, min(setting.reach, MOST_TOKENS))
        shares, title = effects.shares(encoding, context, setting.seed).log2(), "Whom tokens prefer, random contents"
        yield curves.matrices(case, "attention", title, shares, 1, "doublings", PREFERENCE)
