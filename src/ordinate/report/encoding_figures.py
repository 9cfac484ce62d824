"""Which pictures an encoding gets: its hooks decide, never its name."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.parsing import parse_choice
from ordinate.core.positions import AttentionContext
from ordinate.report import encoding_charts as charts
from ordinate.report import encoding_numbers as numbers
from ordinate.report.chart import Figure, file_names
from ordinate.report.encoding_charts import Measured
from ordinate.report.encoding_curves import (
    NOTHING,
    UNTRAINED,
    UNTRAINED_RANDOM,
    Case,
    Summary,
    array,
    arrays,
    by_distance,
    distance_curves,
    flat,
    heads,
    map_panels,
    panels,
    side,
    summary,
)
from ordinate.report.encoding_numbers import Setting

MOST_POINTS = 256  # along a table, and of a curve
MOST_CELLS = 128  # along the side of a matrix
MOST_CHANNELS = 128  # of a table
MOST_TOKENS = 128  # that attend to each other

EQUAL = (
    "Queries and keys are the same random unit vectors at every position: the mean over them, and the range of 95 % of"
    " them where all heads agree. High: a key equal to the query stands out at that distance."
)
BIAS = "What is added to the score of a key so far away. Past the shaded part no distance was trained."
CHANGE = "Queries and keys are random: the mean change of their score, and the range of 95 % of the changes."


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
    encoding = numbers.make(choices[0].name, dict(choices[0].parameters), setting).eval()
    setting, refusal = _within(encoding, setting)
    case, remarks = Case(choices[0].name, encoding, setting), []
    found, trained = list(_figures(case)), any(True for _ in encoding.parameters())
    if not found and trained:
        numbers.shaken(encoding, setting.seed)
        found = list(_figures(case))
        remarks.append(UNTRAINED_RANDOM)
    elif not found:
        remarks.append(NOTHING)
    elif trained:
        remarks.append(UNTRAINED)
    names = file_names(figure.name for figure in found)
    figures = tuple(replace(figure, name=names[figure.name]) for figure in found)
    return EncodingFigures(figures, (*remarks, *_told(encoding)), refusal)


def _within(encoding: Encoding, setting: Setting) -> tuple[Setting, str]:
    """No farther than the encoding goes, and its own words for that."""
    try:
        encoding.check_range(numbers.along(encoding, 0, setting.reach)[0].k)
    except InputError as error:
        if encoding.max_positions < setting.reach:
            return replace(setting, reach=encoding.max_positions), str(error)
        raise
    return setting, ""


def _told(encoding: Encoding) -> Iterator[str]:
    """What the drawn tokens are, for encodings that look at more than positions."""
    if "tokens" in encoding.extra_inputs:
        yield f"The drawn text is {numbers.TEXT.strip()} again and again."
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
    context, at = numbers.along(encoding, 0, reach)
    values = numbers.added(encoding, context)
    if not values.any():
        yield from _taken(case)
        return
    if encoding.shape.axes > 1:
        cells = numbers.added(encoding, numbers.on_grid(encoding, side(case)))
        alike = torch.cosine_similarity(cells, cells[len(cells) // 2][None], dim=-1)
        yield from map_panels(case, "map", "Similarity around the middle of a grid", alike[None], "cosine")
    down = -(-encoding.shape.dim // MOST_CHANNELS)
    down += 1 - down % 2  # odd, so that sines and cosines that take turns both stay
    across = -(-reach // (2 * MOST_POINTS))
    yield charts.vectors(case.name, array(values[::across, ::down].t()), block=across, row_block=down)
    unit, size = torch.nn.functional.normalize(values, dim=-1), values.norm(dim=-1)
    step = -(-reach // MOST_CELLS)
    yield charts.similarity(case.name, array(unit[::step] @ unit[::step].t()), step)
    trained, some = unit[:length], at[:: -(-reach // MOST_POINTS)]
    middle = len(trained) // 2
    lines = [
        Measured("most similar trained position", *arrays(some, (unit[some] @ trained.t()).amax(dim=-1))),
        Measured(f"similarity with position {middle}", *arrays(some, unit[some] @ unit[middle])),
        Measured("size (1: mean of the trained)", *arrays(some, size[some] / size[:length].mean())),
    ]
    yield charts.familiar(case.name, lines, length)


def _taken(case: Case) -> Iterator[Figure]:
    """For those that add what neighbors hold."""
    encoding, title = case.encoding, "How much a token takes from its neighbors"
    if encoding.shape.axes > 1:
        context = numbers.on_grid(encoding, side(case))
        arrived = numbers.taken(encoding, context, context.k.length // 2)
        yield from map_panels(case, "map", title, arrived[None], "share")
        return
    context, at = numbers.along(encoding, 0, case.setting.length)
    giver = 0 if encoding.shape.causal else case.setting.length // 2
    arrived = numbers.taken(encoding, context, giver)
    note = "Root mean square of what reaches a token from one whose embedding is all ones, by distance."
    lines = [Measured("", *arrays(at - giver, arrived))]
    yield from by_distance(case, "taken", title, "what arrives", lines, note)


def _turned(case: Case) -> Iterator[Figure]:
    encoding, setting = case.encoding, case.setting
    curves = distance_curves(
        case, lambda context, looks: summary(numbers.equal_scores(encoding, context, looks, setting.seed))
    )
    yield from by_distance(case, "score", "Score of equal vectors, by distance", "score", curves, EQUAL)
    if encoding.shape.axes > 1:
        context = numbers.on_grid(encoding, side(case))
        scores = numbers.equal_scores(encoding, context, context.k.length // 2, setting.seed).mean(dim=0)
        yield from map_panels(case, "map", "Score of equal vectors around the middle of a grid", scores, "score")
    if encoding.overrides("rotate"):
        yield from _channels(case)


def _channels(case: Case) -> Iterator[Figure]:
    encoding, setting = case.encoding, case.setting
    axes, angles, tables = range(encoding.shape.axes), {}, {}
    step = -(-setting.reach // MOST_POINTS)
    for axis in axes:
        turned = numbers.turns(encoding, axis, setting.seed)
        if turned is None or not (turned > 1e-9).any():
            continue
        prefix = f"axis {axis + 1}" if len(axes) > 1 else ""
        for label, angle in heads(turned.movedim(1, 0), most=4):
            angles[", ".join(filter(None, (prefix, label)))] = array(angle)
        if not encoding.feature_width:
            tables[prefix] = array(numbers.channel_scores(encoding, axis, setting.reach, step))
    if angles:
        yield charts.wavelengths(case.name, angles, encoding.feature_width > 0, setting.length)
    if tables:
        yield charts.channels(case.name, tables, block=step)


def _biased(case: Case) -> Iterator[Figure]:
    encoding = case.encoding

    def of(context: AttentionContext, looks: int) -> Summary:
        values = numbers.biases(encoding, context)
        assert values is not None
        return values[:, looks], None

    yield from by_distance(case, "bias", "Bias by distance", "bias", distance_curves(case, of), BIAS)
    if encoding.shape.axes > 1:
        context = numbers.on_grid(encoding, side(case))
        values, _ = of(context, context.k.length // 2)
        yield from map_panels(case, "bias map", "Bias around the middle of a grid", values, "bias")
        return
    step = -(-case.setting.reach // MOST_CELLS)
    context, _ = numbers.along(encoding, 0, case.setting.reach, step)
    matrix = numbers.biases(encoding, context)
    if matrix is None or flat(matrix):
        return
    if context.visible is not None:
        matrix = matrix.masked_fill(~context.visible[0], torch.nan)
    note = "Rows are queries, columns keys: blue lowers a score, red raises it. What a query does not see is empty."
    title = "Bias of queries and keys"
    yield charts.matrices(f"{case.name} bias matrix", title, panels(matrix), step, "bias", note)


def _changed(case: Case) -> Iterator[Figure]:
    encoding, setting = case.encoding, case.setting

    def of(context: AttentionContext, looks: int) -> Summary:
        changed = numbers.changes(encoding, context, looks, setting.seed)
        return summary(changed.flatten(0, 1)[:, None])  # all heads together

    curves = distance_curves(case, of)
    drawn = list(by_distance(case, "change", "Change of scores, random contents", "change", curves, CHANGE))
    yield from drawn
    if drawn and encoding.shape.axes == 1:
        context, _ = numbers.along(encoding, 0, min(setting.reach, MOST_TOKENS))
        shares = numbers.shares(encoding, context, setting.seed)
        note = (
            "Attention weights over an even share, their mean over random contents: 0 is as much as if all keys were"
            " alike, 1 (red) twice, -1 (blue) half as much."
        )
        title = "Whom tokens prefer, random contents"
        yield charts.matrices(f"{case.name} attention", title, panels(shares.log2()), 1, "doublings", note)
