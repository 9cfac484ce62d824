"""What an encoding does, drawn with characters: by distance on text, around the middle token on a grid."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ordinate.core.encoding import Encoding
from ordinate.probes import encoding_effects as effects
from ordinate.probes.encoding_effects import Setting
from ordinate.report.encoding_curves import draw_all, flat, heads

TOKENS = 64  # of the text: with the numbers beside them, they fit into 80 columns
SIDE = 15  # rows and columns of the grid: odd, so that there is a middle
CHANNELS = 8  # rows of a picture of vectors
HEIGHT = 8  # lines of a curve
SETTING = Setting(head_dim=16, heads=4, length=TOKENS, reach=TOKENS, token_size=None)


@dataclass(frozen=True)
class TextPicture:
    """Rows of numbers, NaN where the query does not see the key."""

    title: str
    rows: list[list[float]]
    kind: Literal["curve", "vectors", "map"]  # by distance; channels by position; around the middle of a grid


def text_pictures(name: str, **parameters: Any) -> tuple[str, list[TextPicture]]:
    """A remark to print above the pictures, or empty, and the pictures."""
    encoding = effects.make(name, parameters, SETTING).eval()
    return draw_all(encoding, SETTING.seed, lambda: _pictures(encoding))


def _pictures(encoding: Encoding) -> Iterator[TextPicture]:
    for title, values in _measured(encoding):
        if flat(values):
            continue
        largest = values[values.isfinite()].abs().max().item()
        values = torch.where(values.abs() < 1e-6 * largest, 0.0, values)  # no rounding errors in the labels
        if values.dim() == 2:
            yield TextPicture(title, values.tolist(), "vectors")
        elif encoding.shape.axes == 1:
            yield TextPicture(f"{title}, by distance", [values.tolist()], "curve")
        else:
            rows = values.view(SIDE, SIDE).tolist()
            yield TextPicture(f"{title}, on a grid" + " around ()" * ("()" not in title), rows, "map")


@torch.no_grad()
def _measured(encoding: Encoding) -> Iterator[tuple[str, Tensor]]:
    """Titles with values by key, on text by distance. The last token of a text is the query, the middle of a grid."""
    text = encoding.shape.axes == 1
    context = effects.along(encoding, 0, TOKENS)[0] if text else effects.on_grid(encoding, SIDE)
    query = context.q.length - 1 if text else context.q.length // 2

    def by_head(title: str, values: Tensor) -> Iterator[tuple[str, Tensor]]:
        """The first head and the last, or one for all if they agree."""
        for label, row in heads(values.flip(-1) if text else values, 2):
            yield f"{title}, {label}" if label else title, row

    if encoding.overrides("embed"):
        added = effects.added(encoding, context)
        if added.any():
            similar = torch.cosine_similarity(added, added[query : query + 1], dim=-1)
            yield from by_head("Similarity of the added vectors", similar[None])
            varying = added.t()[added.std(dim=0) > 1e-9]
            if text and len(varying):
                some = torch.linspace(0, len(varying) - 1, min(CHANNELS, len(varying))).long()
                yield f"The added vectors: {len(some)} of {len(added[0])} channels, by position", varying[some]
        else:
            source = "each before it" if text else "the one at ()"
            yield f"How much a token takes from {source}", effects.taken(encoding, context, 0 if text else query)
    if encoding.overrides("rotate", "qk_scores"):
        scores = effects.equal_scores(encoding, context, query, SETTING.seed)
        yield from by_head("Score of equal vectors", scores.mean(dim=0))
    if (bias := effects.biases(encoding, context)) is not None:
        yield from by_head("Bias", bias[:, query])
    if encoding.overrides("qk_scores", "score_mod") and encoding.family != "rotation":
        changes = effects.changes(encoding, context, query, SETTING.seed)
        mean, noise = changes.mean(dim=0), changes.std(dim=0).max().item() / math.sqrt(len(changes))
        if (mean.max() - mean.min()).item() > 8 * noise:
            yield from by_head("Mean change of scores, random contents", mean)
        else:  # positive as often as negative
            size = changes.square().mean(dim=(0, 1)).sqrt()
            yield from by_head("Size of the change of scores, random contents", size[None])


def draw(picture: TextPicture, *, blocks: bool) -> list[str]:
    """Lines of at most 80 characters; `blocks`: the terminal has block characters, otherwise ASCII."""
    return _curve(picture, blocks) if picture.kind == "curve" else _shades(picture, blocks)


def _curve(picture: TextPicture, blocks: bool) -> list[str]:
    """One column per value; the highest and the lowest are written at the left."""
    (values,) = picture.rows
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite), max(finite)
    marks = " ▁▂▃▄▅▆▇█" if blocks else " ...::::#"
    levels = [(value - low) / (high - low) * (HEIGHT * 8 - 1) + 1 if math.isfinite(value) else 0.0 for value in values]
    lines = []
    for row in reversed(range(HEIGHT)):
        edge = f"{high:9.3g} " if row == HEIGHT - 1 else f"{low:9.3g} " if row == 0 else " " * 10
        lines.append(edge + "".join(marks[max(0, min(8, int(level - row * 8)))] for level in levels))
    return [*lines, " " * 10 + f"0 back{len(values) - 1:>{len(values) - 11}} back"]


def _shades(picture: TextPicture, blocks: bool) -> list[str]:
    """The higher a value the darker; a dot where there is none."""
    finite = [value for row in picture.rows for value in row if math.isfinite(value)]
    low, high = min(finite), max(finite)
    marks, nothing = (" ░▒▓█", "·") if blocks else (" .:*#", "-")
    width = 2 if picture.kind == "map" else 1  # a character is twice as high as it is wide
    lines = []
    for number, row in enumerate(picture.rows):
        cells = []
        for value in row:
            share = (value - low) / (high - low) if math.isfinite(value) else -1.0
            cells.append((marks[min(int(share * len(marks)), len(marks) - 1)] if share >= 0 else nothing) * width)
        if picture.kind == "map" and number == len(picture.rows) // 2:
            cells[len(row) // 2] = "()"
        lines.append(" " * 10 + "".join(cells))
    return [*lines, " " * 10 + f"{marks[0]!r} {low:.3g} to {marks[-1]!r} {high:.3g}"]
