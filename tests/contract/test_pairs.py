"""What encodings owe each other: what a pair declares holds, and what they declare of themselves for that is true."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from ordinate import AttentionContext, BoundEncoding, Encoding, InputError, Positions, attend, combine, encodings
from ordinate.core.errors import AxesError

from .cases import REGISTERED, assert_close

TOKENS, DIM, HEADS, WIDTH = 8, 16, 2, 8


@cache
def made(name: str, seed: int) -> Encoding | None:
    """A small encoding for text, its weights spread widely; None for one that reads grids alone."""
    try:
        encoding = encodings.create(name, dim=DIM, heads=HEADS, length=16)
    except AxesError:
        return None
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in encoding.parameters():
            weight.add_(0.3 * torch.randn(weight.shape, generator=source))
    return encoding.eval()


def inputs(heads: int = HEADS) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    source = torch.Generator().manual_seed(3)
    return torch.randn(2, TOKENS, DIM, generator=source), *torch.randn(3, 2, heads, TOKENS, WIDTH, generator=source)


def bound_at(encoding: Encoding, start: int) -> BoundEncoding:
    positions = torch.arange(start, start + TOKENS).view(1, TOKENS, 1)
    tokens = torch.randint(0, 12, (2, TOKENS), generator=torch.Generator().manual_seed(4))
    token_positions = Positions(positions, segments=torch.zeros(2, TOKENS, dtype=torch.long), tokens=tokens)
    context = AttentionContext.self_attention(token_positions)
    return BoundEncoding(encoding, replace(context, relation=context.relative_positions().abs() % 5 - 1))


def attended(encoding: Encoding, start: int) -> Tensor:
    """Embeddings and attention of a text that begins at this position."""
    x, q, k, v = inputs()
    bound = bound_at(encoding, start)
    x = encoding.embed(x, bound.queries)
    features = bound.features(x)
    q, k = bound.rotate(q, k, features)
    return torch.cat((x.flatten(), attend(q, k, v, bound, features=features).flatten()))


@torch.no_grad()
@pytest.mark.parametrize("name", REGISTERED)
def test_pairs_that_declare_shift_invariance_have_it(name: str) -> None:
    one = made(name, 1)
    for other in (made(second, 2) for second in REGISTERED):
        if one is None or other is None:
            continue
        try:
            both = combine(one, other)
        except InputError:
            continue
        if both.shift_invariant:
            assert_close(attended(both, 5), attended(both, 0), 1e-4)


@torch.no_grad()
@pytest.mark.parametrize("name", REGISTERED)
def test_who_declares_not_to_read_queries_and_keys_does_not(name: str) -> None:
    encoding = made(name, 1)
    if encoding is None or encoding.reads_heads:
        return
    assert type(encoding).qk_scores is Encoding.qk_scores  # which is a product of them
    x, q, k, _ = inputs()
    bound, features = bound_at(encoding, 0), None
    features = bound.features(x)
    scores = q @ k.mT
    assert torch.equal(
        encoding.score_mod(scores, q, k, bound.context, features),
        encoding.score_mod(scores, q + 1, k * 2, bound.context, features),
    )


@torch.no_grad()
@pytest.mark.parametrize("name", REGISTERED)
def test_rotations_declare_their_width_and_whether_heads_may_share_keys(name: str) -> None:
    encoding = made(name, 1)
    if encoding is None:
        return
    bound = bound_at(encoding, 0)
    x, _, k, _ = inputs(heads=1)
    features = bound.features(x)
    if encoding.gqa_needs:
        with pytest.raises(
            InputError, match=f"1 key head serves 2: set kv_heads to heads, or set {encoding.gqa_needs}"
        ):
            encoding.rotate(k, bound.own_state, "k", features)
    else:
        assert (encoding.rotate(k, bound.own_state, "k", features).shape != k.shape) == encoding.widens
