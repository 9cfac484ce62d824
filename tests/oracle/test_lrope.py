"""Trained frequencies against rotary-embedding-torch, and against RoPE where they have not moved."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rotary_embedding_torch import RotaryEmbedding
from torch import Tensor
from torch.testing import assert_close

from ordinate import InputError, ModelConfig, Transformer
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
bases = st.sampled_from([500.0, 1e4, 5e5])
conventions = st.sampled_from(["halves", "interleaved"])


def turned(encoding: Encoding, x: Tensor, positions: Tensor) -> Tensor:
    """Queries under this encoding at [b, n] positions."""
    return encoding.rotate(x, encoding.prepare(Positions(positions.unsqueeze(-1))), "q")


@compare
@given(st.integers(2, 20), bases, st.integers(0, 300))
def test_against_learned_freq(half: int, base: float, start: int) -> None:
    """Values, and the gradient of every frequency: by the chain rule, theirs times the frequency."""
    ours = create("lrope", dim=4 * half, heads=2, length=32, base=base, pairs="interleaved")
    theirs = RotaryEmbedding(dim=2 * half, theta=base, learned_freq=True, cache_if_possible=False)
    torch.nn.init.normal_(ours.w, std=0.3)
    theirs.freqs.data *= ours.w[0].detach().exp()
    x = torch.randn(3, 2, 9, 2 * half)
    found = turned(ours, x, torch.arange(start, start + 9).unsqueeze(0))
    want = theirs.rotate_queries_or_keys(x, offset=start)
    assert_close(found, want, atol=1e-4, rtol=1e-5)  # angles up to 600, good to 2^-15
    upstream = torch.randn_like(x)
    (to_w,), (to_freqs,) = (
        torch.autograd.grad(out, weight, upstream) for out, weight in ((found, ours.w), (want, theirs.freqs))
    )
    scale = to_w.abs().max().item()
    assert_close(to_w[0], to_freqs * theirs.freqs.detach(), atol=1e-4 * scale, rtol=1e-4)


@compare
@given(st.integers(1, 20), bases, conventions, st.booleans(), st.sampled_from([40, 100_000]))
def test_it_starts_as_rope(half: int, base: float, pairs: str, per_head: bool, limit: int) -> None:
    """Bit for bit, at positions of any size."""
    shape = dict(dim=4 * half, heads=2, length=32, base=base, pairs=pairs)
    x, positions = torch.randn(3, 2, 9, 2 * half), torch.randint(limit, (3, 9))
    ours = turned(create("lrope", **shape, per_head=per_head), x, positions)
    assert torch.equal(ours, turned(create("rope", **shape), x, positions))


def test_frequencies_twice_as_high_are_positions_twice_as_far() -> None:
    """Fractions among them."""
    ours, rope = (create(name, dim=16, heads=2, length=32) for name in ("lrope", "rope"))
    torch.nn.init.constant_(ours.w, math.log(2))
    x, positions = torch.randn(3, 2, 9, 8), torch.randn(3, 9) * 20
    assert_close(turned(ours, x, positions), turned(rope, x, 2 * positions), atol=1e-4, rtol=1e-5)


@compare
@given(st.integers(1, 8), st.integers(2, 4))
def test_every_head_has_its_own(half: int, heads: int) -> None:
    """Head by head, an encoding of one head."""
    whole = create("lrope", dim=2 * half * heads, heads=heads, length=32, per_head=True)
    torch.nn.init.normal_(whole.w)
    x, positions = torch.randn(2, heads, 9, 2 * half), torch.randint(100, (2, 9))
    for head in range(heads):
        one = create("lrope", dim=2 * half, heads=1, length=32)
        one.w.data = whole.w[head : head + 1].detach()
        assert_close(turned(whole, x, positions)[:, head], turned(one, x[:, head : head + 1], positions)[:, 0])


def test_layers_share_frequencies_or_have_their_own() -> None:
    """As many sets as asked for."""
    for share, sets in ((False, 3), (True, 1)):
        text = f"lrope(share_layers={str(share).lower()})"
        model = Transformer(ModelConfig(vocabulary=5, dim=16, heads=2, layers=3, length=8, encoding=text))
        assert len(model.encodings) == sets


def test_grouped_keys_need_frequencies_for_all_heads() -> None:
    """Shared by heads they serve any keys; else one sentence says what to do."""
    config = dict(vocabulary=5, dim=16, heads=4, kv_heads=2, layers=1, length=8)
    tokens = torch.zeros(1, 4, dtype=torch.long)
    Transformer(ModelConfig(**config, encoding="lrope"))(tokens)
    with pytest.raises(InputError, match="2 key heads serve 4: set kv_heads to heads, or set per_head=false"):
        Transformer(ModelConfig(**config, encoding="lrope(per_head=true)"))
