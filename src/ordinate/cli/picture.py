"""What an encoding does, as numbers to draw: by distance on text, around a token in the middle on grids."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate import encodings
from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions

TOKENS = 64  # of the text that is drawn: as many columns fit beside their numbers into 80
SIDE = 15  # rows and columns of the grid: odd, so that there is a middle
DRAWS = 16  # random contents to average over
CHANNELS = 8  # rows of a picture of vectors
EQUAL = "Score of equal channels"
NUMBERS = "1234567+7654321=8888888 "  # for encodings that look for digits


@dataclass(frozen=True)
class Picture:
    """Rows of numbers, not finite where there is nothing: one row by distance, or several."""

    title: str
    rows: list[list[float]]
    kind: str  # curve: by distance; vectors: channels by position; map: around the middle of a grid


def pictures(name: str, **parameters: Any) -> tuple[str, list[Picture]]:
    """A sentence that must be read with them, or empty, and the pictures."""
    encoding = _made(name, **parameters)
    found, weights = list(_look(encoding)), list(encoding.parameters())
    if found:
        return "Drawn as it is before training." if weights else "", found
    if not weights:
        return "Nothing to draw: it leaves every embedding and every score as it is.", []
    source = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in weights:
            weight.copy_(torch.randn(weight.shape, generator=source) * 0.5)
    found = list(_look(encoding))
    return "Before training it changes nothing; drawn with random values in place of trained ones.", found


def _made(name: str, **parameters: Any) -> Encoding:
    """An instance on text if it reads text; on grids one that looks all around, if it can."""
    found = encodings.example(name, **parameters)
    if found.shape.axes == 1 or found.causal_only:
        return found
    shape = found.shape
    sizes = dict(dim=shape.dim, heads=shape.heads, length=shape.length, axes=shape.axes)
    return encodings.create(name, **sizes, causal=False, **parameters)


def _pair(encoding: Encoding) -> AttentionContext:
    """A text whose last token looks back, or a grid; with all that an encoding may want to be told."""
    if encoding.shape.axes == 1:
        positions = Positions.range(TOKENS)
    else:
        sides = (SIDE, SIDE, *[1] * (encoding.shape.axes - 2))
        positions = Positions(torch.cartesian_prod(*(torch.arange(side) for side in sides))[None])
    index = torch.arange(positions.length)[None]
    digits = torch.tensor([int(c) if c.isdigit() else 10 + "+= ".index(c) for c in NUMBERS])
    positions = Positions(
        positions.values,
        segments=2 * index // positions.length,
        first=positions.first,
        tokens=digits[index % len(digits)],
    )
    relation = (index[..., None] - index[:, None]).abs() if "relation" in encoding.reads else None
    return encoding.placed(AttentionContext(positions, positions, encoding.shape.causal, relation=relation))


@torch.no_grad()
def _look(encoding: Encoding) -> Iterator[Picture]:
    encoding = encoding.eval()
    context = _pair(encoding)
    looks = context.q.length - 1 if encoding.shape.axes == 1 else context.q.length // 2
    for title, values in (
        *_added(encoding, context.k, looks),
        *_turned(encoding, context, looks),
        *_biases(encoding, context, looks),
        *_content(encoding, context, looks),
    ):
        finite = values[values.isfinite()]
        largest = finite.abs().max().item() if len(finite) else 0.0
        if len(finite) == 0 or finite.max() - finite.min() <= 1e-6 * max(1.0, largest):
            continue
        values = torch.where(values.abs() < 1e-6 * largest, 0.0, values)  # no rounding errors in the labels
        if values.dim() == 2:
            yield Picture(title, values.tolist(), "vectors")
        elif encoding.shape.axes == 1:
            yield Picture(f"{title}, by distance", [values.tolist()], "curve")
        else:
            rows = values[: SIDE * SIDE].view(SIDE, SIDE).tolist()
            yield Picture(f"{title}, on a grid" + " around ()" * ("()" not in title), rows, "map")


Found = Iterator[tuple[str, Tensor]]  # titles with values by key; on text by distance


def _by_key(encoding: Encoding, values: Tensor) -> Tensor:
    return values.flip(0) if encoding.shape.axes == 1 else values


def _added(encoding: Encoding, positions: Positions, looks: int) -> Found:
    if type(encoding).embed is Encoding.embed:
        return
    nothing = torch.zeros(1, positions.length, encoding.shape.dim)
    added = encoding.embed(nothing, positions)[0]
    if added.any():
        alike = torch.cosine_similarity(added, added[looks : looks + 1], dim=-1)
        yield "Similarity of the added vectors", _by_key(encoding, alike)
        varying = added.t()[added.std(dim=0) > 1e-9]
        if encoding.shape.axes == 1 and len(varying):
            some = torch.linspace(0, len(varying) - 1, min(CHANNELS, len(varying))).long()
            yield f"The added vectors: {len(some)} of {len(added[0])} channels, by position", varying[some]
        return
    giver = 0 if encoding.shape.axes == 1 else looks
    given = nothing.clone()
    given[0, giver] = 1.0
    reached = (encoding.embed(given, positions) - given)[0].square().mean(dim=-1).sqrt()
    one = "each before it" if encoding.shape.axes == 1 else "the one at ()"
    yield f"How much a token takes from {one}", reached


def _turned(encoding: Encoding, context: AttentionContext, looks: int) -> Found:
    if type(encoding).rotate is Encoding.rotate or type(encoding).qk_scores is not Encoding.qk_scores:
        return
    contents = torch.ones(DRAWS, encoding.shape.heads, context.k.length, encoding.shape.head_dim)
    q, k, _ = _rotated(encoding, context, contents, contents)
    score = torch.einsum("bhe,bhke->bhk", q[:, :, looks], k).mean(dim=0) / encoding.shape.head_dim
    yield from _heads(encoding, EQUAL, score)


def _biases(encoding: Encoding, context: AttentionContext, looks: int) -> Found:
    bias = encoding.bias(context)
    if bias is not None:
        yield from _heads(encoding, "Bias", bias[0, :, looks])


def _content(encoding: Encoding, context: AttentionContext, looks: int) -> Found:
    matches, changes = (
        getattr(type(encoding), hook) is not getattr(Encoding, hook) for hook in ("qk_scores", "score_mod")
    )
    if not (matches or changes):
        return
    shape = (DRAWS, encoding.shape.heads, context.k.length, encoding.shape.head_dim)
    q, k = torch.randn(2, *shape, generator=torch.Generator().manual_seed(1))
    if encoding.family == "rotation":
        q = torch.ones(shape)
    if matches:
        k = q[:, :, looks : looks + 1].expand(shape)
    q, k, features = _rotated(encoding, context, q, k)
    before = encoding.qk_scores(q, k, context, features)
    after = encoding.score_mod(before.clone(), q, k, context, features)
    if matches:
        equal = encoding.family == "rotation"
        score = after[:, :, looks].mean(dim=0) * (encoding.shape.head_dim**-0.5 if equal else 1.0)
        yield from _heads(encoding, EQUAL if equal else "Mean score of a key like the query", score)
        return
    change = (after - before)[:, :, looks]
    mean = change.mean(dim=0)
    noise = change.std(dim=0).max().item() / math.sqrt(DRAWS)
    if (mean.max() - mean.min()).item() > 8 * noise:
        yield from _heads(encoding, "Mean change of scores, random contents", mean)
    else:  # it has either sign alike
        size = change.square().mean(dim=(0, 1)).sqrt()
        yield "Size of the change of scores, random contents", _by_key(encoding, size)


def _rotated(encoding: Encoding, context: AttentionContext, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, Any]:
    features = None
    if encoding.feature_width:
        x = torch.randn(DRAWS, context.k.length, encoding.shape.dim, generator=torch.Generator().manual_seed(2))
        features = encoding.features(x, context.k, None)
    state = encoding.prepare(context.k)
    return encoding.rotate(q, state, "q", features), encoding.rotate(k, state, "k", features), features


def _heads(encoding: Encoding, title: str, values: Tensor) -> Found:
    """The first head and the last, or one for all if they agree."""
    first, last = values[0], values[-1]
    if torch.allclose(first, last, rtol=1e-3, atol=1e-6):
        yield title, _by_key(encoding, first)
        return
    yield f"{title}, head 1", _by_key(encoding, first)
    yield f"{title}, head {len(values)}", _by_key(encoding, last)
