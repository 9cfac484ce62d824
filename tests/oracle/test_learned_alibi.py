"""Trained slopes: ALiBi at the start, any slopes later."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from x_transformers.x_transformers import AlibiPositionalBias

from ordinate import InputError
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


@compare
@given(st.integers(1, 20), st.booleans(), st.integers(1, 60))
def test_starts_as_alibi(heads: int, causal: bool, length: int) -> None:
    """Ours, and that of x-transformers."""
    ours = create("learned_alibi", dim=4 * heads, heads=heads, length=32, causal=causal)
    bias = ours.bias(AttentionContext.self_attention(Positions.range(length), causal=causal))
    assert_close(bias[0], AlibiPositionalBias(heads)(length, length), rtol=1e-5, atol=1e-6)
    alibi = create("alibi", dim=4 * heads, heads=heads, length=32, causal=causal)
    assert_close(
        bias, alibi.bias(AttentionContext.self_attention(Positions.range(length), causal=causal)), rtol=1e-5, atol=1e-6
    )


@compare
@given(st.integers(1, 6), st.floats(1, 12))
def test_starts_as_steep_as_asked(heads: int, max_bias: float) -> None:
    sizes = dict(dim=4 * heads, heads=heads, length=32, max_bias=max_bias)
    gaps = torch.arange(40)
    ours, alibi = (create(name, **sizes).relative_bias(gaps) for name in ("learned_alibi", "alibi"))
    assert_close(ours, alibi, rtol=1e-5, atol=1e-6)


@compare
@given(st.integers(1, 6), st.booleans())
def test_any_slopes_on_either_side(heads: int, two: bool) -> None:
    sides = "asymmetric" if two else "symmetric"
    ours = create("learned_alibi", dim=4 * heads, heads=heads, length=32, causal=False, sides=sides)
    ours.log_slopes.data.normal_()
    gaps = torch.randn(30) * 20
    slopes = ours.log_slopes.exp().tolist()
    for head, row in enumerate(ours.relative_bias(gaps).tolist()):
        for gap, found in zip(gaps.tolist(), row, strict=True):
            assert found == pytest.approx(-slopes[-1 if gap < 0 else 0][head] * abs(gap), rel=1e-5)


def test_a_causal_model_has_one_side() -> None:
    with pytest.raises(InputError, match="never looks right"):
        create("learned_alibi", dim=8, heads=2, length=8, sides="asymmetric")
