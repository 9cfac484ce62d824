"""Polar coordinates against PoPE-pytorch, and against the sum of cosines that they stand for."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PoPE_pytorch import PoPE
from PoPE_pytorch.attention import flash_attn_with_pope
from torch.testing import assert_close

from ordinate import BoundEncoding, ModelConfig, Transformer, attend
from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
widths, heads_of, lengths = st.integers(1, 24), st.integers(1, 4), st.integers(1, 30)
bases = st.sampled_from([500.0, 1e4])


def both(width: int, heads: int, base: float, causal: bool = True) -> tuple[Encoding, PoPE]:
    """Ours and theirs with the same angles, within the one turn that theirs allows."""
    ours = create("pope", dim=heads * width, heads=heads, length=32, base=base, phase="uniform", causal=causal)
    theirs = PoPE(width, heads=heads, theta=base)
    theirs.bias.data = ours.delta.detach().clone()
    return ours, theirs


@compare
@given(widths, heads_of, lengths, bases)
def test_scores(width: int, heads: int, length: int, base: float) -> None:
    """Scaled scores, which attention divides by the root of twice the width, and all gradients."""
    ours, theirs = both(width, heads, base)
    q, k = (torch.randn(2, heads, length, width, requires_grad=True) for _ in range(2))
    state = ours.prepare(Positions.range(length))
    turned = ours.rotate(q, state, "q"), ours.rotate(k, state, "k")
    found = ours.qk_scores(*turned, AttentionContext.self_attention(Positions.range(length)))
    rotated, keys = PoPE.apply_pope_to_qk(theirs(length), q, k)
    want = rotated @ keys.mT / math.sqrt(width)
    assert_close(found, want, atol=1e-5, rtol=1e-5)
    upstream = torch.randn_like(found)
    to_ours = torch.autograd.grad(found, (q, k, ours.delta), upstream)
    to_theirs = torch.autograd.grad(want, (q, k, theirs.bias), upstream)
    for mine, other in zip(to_ours, to_theirs, strict=True):
        assert_close(mine, other, atol=2e-4, rtol=1e-4)


@compare
@given(widths, heads_of, st.sampled_from([3, 40, 200]), st.booleans())
def test_attention(width: int, heads: int, length: int, causal: bool) -> None:
    """Whole attention, by whichever path; from 192 tokens on it is another."""
    ours, theirs = both(width, heads, 1e4, causal)
    q, k, v = torch.randn(3, 2, heads, length, width)
    bound = BoundEncoding(ours, AttentionContext.self_attention(Positions.range(length), causal=causal))
    want = flash_attn_with_pope(q, k, v, theirs(length), causal=causal, fused=False)
    with torch.no_grad():
        assert_close(attend(*bound.rotate(q, k), v, bound), want, atol=1e-5, rtol=1e-5)


@compare
@given(st.integers(1, 6), st.integers(1, 3))
def test_the_sum_of_cosines(width: int, heads: int) -> None:
    """The formula, a query, a key and a channel at a time; positions with jumps, fractions and a sign."""
    ours, _ = both(width, heads, 1e4)
    places = torch.randn(1, 5, 1) * 30
    q, k = torch.randn(2, 1, heads, 5, width)
    state = ours.prepare(Positions(places))
    found = ours.qk_scores(
        ours.rotate(q, state, "q"), ours.rotate(k, state, "k"), AttentionContext.self_attention(Positions(places))
    )
    for h, i, j in torch.cartesian_prod(*map(torch.arange, (heads, 5, 5))).tolist():
        total = 0.0
        for c in range(width):
            lengths = [math.log1p(math.exp(x[0, h, at, c])) for x, at in ((q, i), (k, j))]
            angle = (places[0, j, 0] - places[0, i, 0]).item() * 1e4 ** (-c / width) + ours.delta[h, c].item()
            total += lengths[0] * lengths[1] * math.cos(angle)
        assert abs(found[0, h, i, j].item() - total / math.sqrt(width)) < 1e-4


def test_the_start() -> None:
    """No angle at all, or any within one turn."""
    zero, uniform = (create("pope", dim=64, heads=4, length=8, phase=phase).delta for phase in ("zero", "uniform"))
    assert not zero.any()
    assert uniform.min() >= -2 * math.pi and uniform.max() <= 0 and uniform.std() > 1


def test_keys_may_be_shared_by_heads() -> None:
    """Every query head keeps its own angle, as if the keys were repeated."""
    ours, _ = both(8, 4, 1e4)
    q, k, v = torch.randn(2, 4, 9, 8), torch.randn(2, 2, 9, 8), torch.randn(2, 2, 9, 8)
    bound = BoundEncoding(ours, AttentionContext.self_attention(Positions.range(9)))
    grouped = attend(*bound.rotate(q, k), v, bound)
    k, v = k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)
    assert_close(grouped, attend(*bound.rotate(q, k), v, bound))
    config = ModelConfig(vocabulary=5, dim=16, heads=4, kv_heads=2, layers=1, length=8, encoding="pope")
    assert Transformer(config)(torch.zeros(1, 4, dtype=torch.long)).isfinite().all()
