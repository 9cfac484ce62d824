"""What an encoding does, as numbers: the vectors that it adds, how far it turns, its biases, its changes of scores."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ordinate import encodings
from ordinate.core.encoding import Encoding
from ordinate.core.errors import AxesError, CausalError, InputError
from ordinate.core.positions import AttentionContext, Positions
from ordinate.core.seeds import generator

DRAWS = 16  # random contents to average over
VECTORS = 64  # random unit vectors, at least
TEXT = "1234567+7654321=8888888 "  # again and again, for encodings that look at tokens


@dataclass(frozen=True)
class Setting:
    """The model around an encoding, and how far to look."""

    head_dim: int = 32
    heads: int = 4
    length: int = 64  # trained
    reach: int = 256  # positions that are drawn
    both_ways: bool = False  # on text; on grids every token sees all others
    grid: bool = False  # for encodings that read text and grids
    seed: int = 0
    token_size: float | None = 1.0  # of the token embeddings; none: values are those of the definition


def make(name: str, parameters: dict[str, Any], setting: Setting) -> Encoding:
    """An instance for text if the encoding reads text, otherwise for a grid or a volume."""
    text, grid, volume = (1, not setting.both_ways), (2, False), (3, False)
    order = (grid, text, volume) if setting.grid else (text, grid, volume)
    refusals: list[AxesError] = []
    for axes, causal in order:
        shape: dict[str, Any] = dict(
            dim=setting.head_dim * setting.heads, heads=setting.heads, length=setting.length, axes=axes,
            token_size=setting.token_size, seed=setting.seed,
        )  # fmt: skip
        try:
            return encodings.create(name, **shape, causal=causal, **parameters)
        except AxesError as error:
            refusals.append(error)
        except CausalError:
            if axes == 1:
                raise
            return encodings.create(name, **shape, causal=True, **parameters)
    raise refusals[0]


def within(encoding: Encoding, setting: Setting) -> tuple[Setting, str]:
    """No farther than the encoding goes, and its own words for that."""
    try:
        encoding.check_range(along(encoding, 0, setting.reach)[0].k)
    except InputError as error:
        if encoding.max_positions < setting.reach:
            return replace(setting, reach=encoding.max_positions), str(error)
        raise
    return setting, ""


def shaken(encoding: Encoding, seed: int) -> None:
    """Random values in place of trained ones."""
    source = generator(seed, "pictures", "weights")
    with torch.no_grad():
        for weight in encoding.parameters():
            weight.copy_(torch.randn(weight.shape, generator=source) * 0.5)


def along(
    encoding: Encoding, axis: int, count: int, step: int = 1, dtype: torch.dtype = torch.long
) -> tuple[AttentionContext, Tensor]:
    """Tokens along one axis, on every `step`-th position up to the last of `count`; and their positions."""
    at = torch.arange((count - 1) % step, count, step)
    positions = torch.zeros(1, len(at), encoding.shape.axes, dtype=dtype)
    positions[0, :, axis] = at
    return _pair(encoding, Positions(positions, first=0 if encoding.shape.axes == step == 1 else None)), at


def on_grid(encoding: Encoding, side: int) -> AttentionContext:
    """All tokens of a square; on further axes their position is 0."""
    sides = (side, side, *[1] * (encoding.shape.axes - 2))
    return _pair(encoding, Positions(torch.cartesian_prod(*(torch.arange(size) for size in sides))[None]))


def _pair(encoding: Encoding, positions: Positions) -> AttentionContext:
    """With all extra inputs that an encoding may read."""
    index = torch.arange(positions.length)[None]
    digits = torch.tensor([int(c) if c.isdigit() else 10 + "+= ".index(c) for c in TEXT])
    positions = replace(positions, segments=2 * index // positions.length, tokens=digits[index % len(digits)])
    relation = None
    if "relation" in encoding.extra_inputs:
        relation = (positions.values[:, :, None] - positions.values[:, None]).abs().sum(dim=-1)
    return encoding.relabel_context(AttentionContext(positions, positions, encoding.shape.causal, relation=relation))


@torch.no_grad()
def added(encoding: Encoding, context: AttentionContext, dtype: torch.dtype = torch.float32) -> Tensor:
    """The vector that is added to each token: [n, d]."""
    return encoding.embed(torch.zeros(1, context.k.length, encoding.shape.dim, dtype=dtype), context.k)[0]


@torch.no_grad()
def taken(encoding: Encoding, context: AttentionContext, giver: int) -> Tensor:
    """How much of one token's embedding, which is all ones, arrives at each token: [n]."""
    given = torch.zeros(1, context.k.length, encoding.shape.dim)
    given[0, giver] = 1.0
    arrived: Tensor = (encoding.embed(given, context.k) - given)[0].square().mean(dim=-1).sqrt()
    return arrived


def unit_vectors(width: int, seed: int) -> Tensor:
    """Random directions: whole orthonormal bases, over which the mean of x·Mx is exactly that over all directions."""
    source = generator(seed, "pictures", "unit vectors")
    bases = torch.randn(-(-VECTORS // width), width, width, generator=source)
    directions: Tensor = torch.linalg.qr(bases).Q.reshape(-1, width)
    return directions


@torch.no_grad()
def equal_scores(encoding: Encoding, context: AttentionContext, looks: int, seed: int) -> Tensor:
    """x·y for each unit vector x as the query of token `looks` and as the key of every token: [draws, h, k].

    Keys that the query does not see are NaN.
    """
    shape, found = encoding.shape, []
    row = context.query_block(looks, looks + 1)
    for number, vectors in enumerate(unit_vectors(shape.head_dim, seed).split(16)):
        x = vectors[:, None, None].expand(-1, shape.heads, context.k.length, -1).contiguous()
        q, k, features = _rotated(encoding, context, x, x, seed, number)
        seen = row.k.length
        features = None if features is None else features[:, :seen]
        score = encoding.qk_scores(q[:, :, looks : looks + 1], k[:, :, :seen], row, features)
        score = score[:, :, 0] * shape.head_dim**0.5
        found.append(torch.nn.functional.pad(score, (0, context.k.length - seen), value=torch.nan))
    return torch.cat(found)


@torch.no_grad()
def turns(encoding: Encoding, axis: int, seed: int, tokens: int = 2) -> Tensor | None:
    """The angle by which each channel turns from one token to the next: [steps, h, e]. One step from position 0 gives
    it exactly, unless content decides. None for what is no turning: a channel's part in scores is not linear.

    `tokens`: the length of the text, on which the angles of some encodings depend."""
    shape, steps = encoding.shape, DRAWS if encoding.feature_width else 1
    context, _ = along(encoding, axis, max(tokens, steps + 1))
    channels = torch.eye(shape.head_dim)[:, None, None].expand(-1, shape.heads, context.k.length, -1).contiguous()
    turned, double = (_rotated(encoding, context, x, x, seed)[0][:, :, : steps + 1] for x in (channels, 2 * channels))
    if not torch.allclose(double, 2 * turned, rtol=1e-4, atol=1e-6):
        return None
    before, after = turned[:, :, :-1].double(), turned[:, :, 1:].double()
    along_it = (before * after).sum(dim=-1, keepdim=True) / before.square().sum(dim=-1, keepdim=True)
    size = before.norm(dim=-1)
    angle = torch.atan2((after - before * along_it).norm(dim=-1), along_it[..., 0] * size)
    return angle.permute(2, 1, 0).float()


@torch.no_grad()
def channel_scores(encoding: Encoding, axis: int, count: int, step: int) -> Tensor:
    """What a channel that is 1 in query and key adds to their score, the key at position 0: [e, n], of the first head.
    Where every channel turns by a fixed angle, these are cosines."""
    shape = encoding.shape
    positions = torch.zeros(1, -(-count // step), shape.axes, dtype=torch.long)
    positions[0, :, axis] = torch.arange(0, count, step)
    context, width = _pair(encoding, Positions(positions)), shape.head_dim
    found = []
    for channels in torch.eye(width).split(32):
        x = channels[:, None, None].expand(-1, shape.heads, context.k.length, -1).contiguous()
        q, k, _ = _rotated(encoding, context, x, x, 0)
        found.append((q[:, 0] * k[:, 0, :1]).sum(dim=-1))
    return torch.cat(found)


@torch.no_grad()
def biases(encoding: Encoding, context: AttentionContext) -> Tensor | None:
    """[h or 1, q, k]."""
    bias = encoding.bias(context)
    return None if bias is None else bias[0]


@torch.no_grad()
def changes(encoding: Encoding, context: AttentionContext, looks: int, seed: int) -> Tensor:
    """How the scores of token `looks` with all that it sees change, for random contents: [draws, h, k]."""
    q, k = _contents(encoding, context, seed)
    plain = (q[:, :, looks, None] * k).sum(dim=-1) * encoding.shape.head_dim**-0.5
    changed: Tensor = _scores(encoding, context, q, k, seed, looks)[:, :, 0] - plain
    return changed


@torch.no_grad()
def whole_scores(encoding: Encoding, context: AttentionContext, looks: int, seed: int, *, equal: bool) -> Tensor:
    """The scores of token `looks` with all that it sees, biases included, for random contents: [draws, h, k]. `equal`:
    every key has the content of the query."""
    q, k = _contents(encoding, context, seed)
    if equal:
        q = k = q[:, :, looks : looks + 1].expand_as(k)
    scores, bias = _scores(encoding, context, q, k, seed, looks), encoding.bias(context.query_block(looks, looks + 1))
    whole: Tensor = (scores if bias is None else scores + bias)[:, :, 0]
    return whole


@torch.no_grad()
def shares(encoding: Encoding, context: AttentionContext, seed: int) -> Tensor:
    """Attention weights over what even attention would give, the mean over random contents: [h, q, k]."""
    q, k = _contents(encoding, context, seed)
    scores, bias = _scores(encoding, context, q, k, seed), encoding.bias(context)
    scores = scores if bias is None else scores + bias
    visible = torch.ones(1, 1, *scores.shape[2:], dtype=torch.bool) if context.visible is None else context.visible
    weights = scores.masked_fill(~visible, -torch.inf).softmax(dim=-1).mean(dim=0)
    even = weights * visible.sum(dim=-1, keepdim=True)[0]
    return even.masked_fill(~visible[0], torch.nan)


def _contents(encoding: Encoding, context: AttentionContext, seed: int) -> tuple[Tensor, Tensor]:
    shape = (DRAWS, encoding.shape.heads, context.k.length, encoding.shape.head_dim)
    q, k = torch.randn(2, *shape, generator=generator(seed, "pictures", "contents"))
    return q, k


def _scores(
    encoding: Encoding, context: AttentionContext, q: Tensor, k: Tensor, seed: int, looks: int | None = None
) -> Tensor:
    """Scores of all tokens with all, or of one with all that it sees, without biases."""
    q, k, features = _rotated(encoding, context, q, k, seed)
    if looks is not None:
        context, q = context.query_block(looks, looks + 1), q[:, :, looks : looks + 1]
    scores = encoding.qk_scores(q, k, context, features)
    return encoding.score_mod(scores, q, k, context, features)


def _rotated(
    encoding: Encoding, context: AttentionContext, q: Tensor, k: Tensor, seed: int, number: int = 0
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Queries and keys as the encoding turns them; where it reads tokens' contents, these are random."""
    features = None
    if encoding.feature_width:
        source = generator(seed, "pictures", "inputs", number)
        x = torch.randn(len(q), context.k.length, encoding.shape.dim, generator=source)
        features = encoding.features(x, context.k, None)
    state = encoding.prepare(context.k)
    return encoding.rotate(q, state, "q", features), encoding.rotate(k, state, "k", features), features
