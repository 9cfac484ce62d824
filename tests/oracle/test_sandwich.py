"""Sandwich against attn-gym, and against the inner product of sinusoidal embeddings that it is."""

import torch
from attn_gym.mods import generate_sandwich_bias
from hypothesis import given, settings
from hypothesis import strategies as st
from positional_encodings.torch_encodings import PositionalEncoding1D
from torch.testing import assert_close

from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


@compare
@given(st.integers(1, 9), st.integers(1, 80), st.sampled_from([2, 16, 128]), st.booleans())
def test_attn_gym(heads: int, length: int, width: int, causal: bool) -> None:
    """Read one index at a time, consecutive positions and shuffled ones."""
    ours = create("sandwich", dim=4 * heads, heads=heads, length=32, causal=causal, width=width)
    theirs = generate_sandwich_bias(heads, length, width)
    h, i, j = torch.meshgrid(torch.arange(heads), torch.arange(length), torch.arange(length), indexing="ij")
    want = theirs(torch.zeros(()), torch.tensor(0), h, i, j)
    assert_close(
        ours.bias(AttentionContext.self_attention(Positions.range(length), causal=causal))[0],
        want,
        rtol=1e-5,
        atol=1e-4,
    )
    order = torch.randperm(length)
    shuffled = ours.bias(AttentionContext.self_attention(Positions(order.view(1, -1, 1)), causal=causal))[0]
    assert_close(shuffled, want[:, order][:, :, order], rtol=1e-5, atol=1e-4)


@compare
@given(st.sampled_from([4, 32, 128]), st.integers(2, 40))
def test_the_inner_product_of_two_sinusoidal_embeddings(width: int, length: int) -> None:
    """Of one head of eight, whose weight is one."""
    ours = create("sandwich", dim=32, heads=8, length=32, width=width)
    table = PositionalEncoding1D(width)(torch.zeros(1, length, width))[0]
    assert_close(
        ours.bias(AttentionContext.self_attention(Positions.range(length)))[0, 0], table @ table.T, rtol=1e-4, atol=1e-4
    )


@compare
@given(st.integers(1, 9), st.sampled_from([8, 128]), st.sampled_from([100.0, 10_000.0]))
def test_counting_from_one_and_another_base(heads: int, width: int, base: float) -> None:
    """NeMo leaves out the fastest wave and takes a slower one; what it subtracts from whole rows cancels."""
    ours = create("sandwich", dim=4 * heads, heads=heads, length=32, width=width, base=base, first=1)
    gaps = torch.arange(-30, 31)
    k = torch.arange(1, width // 2 + 1, dtype=torch.float64)
    waves = torch.cos(gaps[:, None] * base ** (-2 * k / width)).sum(dim=1)
    weight = heads / (8 * torch.arange(1, heads + 1, dtype=torch.float64))
    assert_close(ours.relative_bias(gaps).double(), weight[:, None] * waves, rtol=1e-5, atol=1e-4)


def test_many_gaps_go_in_parts(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    ours = create("sandwich", dim=8, heads=2, length=32)
    gaps = torch.arange(200)
    whole = ours.relative_bias(gaps)
    monkeypatch.setattr("ordinate.encodings.sandwich._AT_ONCE", 1000)
    assert_close(ours.relative_bias(gaps), whole, rtol=1e-5, atol=1e-5)
