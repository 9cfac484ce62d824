"""Decaying rotations against torchscale and rotary-embedding-torch; only scores are compared, for centring cancels."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rotary_embedding_torch import RotaryEmbedding
from torch import Tensor
from torch.testing import assert_close
from torchscale.component.xpos_relative_position import XPOS

from ordinate import ModelConfig, Transformer
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
halves = st.integers(2, 32)
lengths = st.integers(1, 200)
scale_bases = st.sampled_from([64, 512])


def xpos(width: int, **parameters: object) -> Encoding:
    """One head with pairs as the authors have them."""
    return create("xpos", dim=width, heads=1, length=32, **{"pairs": "interleaved"} | parameters)


def turned(encoding: Encoding, q: Tensor, k: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
    """Queries and keys that begin at this position."""
    state = encoding.prepare(Positions.range(q.shape[2], start=start))
    return encoding.rotate(q, state, "q"), encoding.rotate(k, state, "k")


def same_scores(ours: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor], farthest: int) -> None:
    """Equal scores of every query with the keys it can see, up to the rounding of angles of `farthest` radians."""
    found, want = ((q @ k.mT).tril() for q, k in (ours, theirs))
    assert_close(found, want, atol=1e-5 + farthest * 2.0**-20, rtol=1e-4)


@compare
@given(halves, lengths, scale_bases)
def test_against_torchscale(half: int, length: int, scale_base: int) -> None:
    """The authors' code, [b * h, n, e]."""
    q, k = torch.randn(2, 3, 1, length, 2 * half)
    authors = XPOS(2 * half, scale_base)
    theirs = authors(q[:, 0]).unsqueeze(1), authors(k[:, 0], downscale=True).unsqueeze(1)
    same_scores(turned(xpos(2 * half, scale_base=scale_base), q, k), theirs, length)


@compare
@given(halves, lengths, scale_bases)
def test_against_rotary_embedding_torch(half: int, length: int, scale_base: int) -> None:
    """Its full pass."""
    q, k = torch.randn(2, 3, 1, length, 2 * half)
    theirs = RotaryEmbedding(dim=2 * half, use_xpos=True, xpos_scale_base=scale_base)
    same_scores(turned(xpos(2 * half, scale_base=scale_base), q, k), theirs.rotate_queries_and_keys(q, k), length)


@compare
@given(halves, lengths, st.integers(0, 2000))
def test_conventions_and_shifts(half: int, length: int, start: int) -> None:
    """Pairs in halves are a permutation of the others, and only distances count."""
    order = torch.arange(2 * half).view(2, half).t().flatten()
    q, k = torch.randn(2, 1, 1, length, 2 * half)
    shifted = turned(xpos(2 * half, pairs="halves"), q, k, start)
    same_scores(shifted, turned(xpos(2 * half), q[..., order], k[..., order]), farthest=start + length)


def test_decoding_is_the_full_pass() -> None:
    """The fault of rotary-embedding-torch 0.9.1: a cached step scales its query by another center than its keys."""
    q, k = torch.randn(2, 1, 1, 600, 64)
    theirs = RotaryEmbedding(dim=64, use_xpos=True)
    whole_q, whole_k = theirs.rotate_queries_and_keys(q, k)
    last_q, last_k = theirs.rotate_queries_with_cached_keys(q[:, :, -1:], k)
    whole, last = whole_q[:, :, -1:] @ whole_k.mT, last_q @ last_k.mT
    assert (last - whole).norm() > 0.1 * whole.norm()

    # weights large enough that scores decide the logits
    config = ModelConfig(vocabulary=20, encoding="xpos", dim=64, heads=1, layers=2, length=600, init_std=0.2)
    model = Transformer(config).eval()
    tokens = torch.randint(20, (1, 600))
    with torch.no_grad():
        full, cache = model(tokens), model.cache(1, 600)
        steps = [model(part, cache=cache) for part in tokens.split([300, *[1] * 300], dim=1)]
    assert_close(torch.cat(steps, dim=1), full, atol=1e-5, rtol=1e-5)
