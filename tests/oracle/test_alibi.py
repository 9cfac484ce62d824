"""Linear biases against x-transformers, BLOOM and MPT, for any number of heads."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from x_transformers.x_transformers import AlibiPositionalBias

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
head_counts = st.integers(1, 40)
lengths = st.integers(1, 70)


def alibi(heads: int, **parameters: object) -> Encoding:
    """An encoding for this many heads."""
    return create("alibi", dim=4 * heads, heads=heads, length=32, **parameters)


def same_weights(ours: Tensor, theirs: Tensor) -> None:
    """Equal after a causal softmax, to which a number added to a whole row means nothing."""
    ahead = torch.ones(ours.shape[-2:], dtype=torch.bool).triu(1)
    scores = torch.randn(ours.shape)
    weights = [(scores + bias).masked_fill(ahead, float("-inf")).softmax(dim=-1) for bias in (ours, theirs)]
    assert_close(weights[0], weights[1], atol=5e-6, rtol=0)  # theirs rounds slope times position, up to 70


@compare
@given(head_counts, lengths, st.integers(0, 200), st.booleans())
def test_distances_against_x_transformers(heads: int, queries: int, before: int, causal: bool) -> None:
    """The last queries of a longer sequence, on both sides."""
    keys = before + queries
    context = AttentionContext(
        Positions.range(queries, start=before), Positions.range(keys), causal=causal, start=before
    )
    assert_close(alibi(heads, causal=causal).bias(context)[0], AlibiPositionalBias(heads)(queries, keys))


@compare
@given(head_counts, st.integers(1, 4))
def test_any_positions_against_x_transformers(heads: int, batch: int) -> None:
    """Positions with jumps, another set for every sequence."""
    positions = torch.randint(100_000, (batch, 12))
    theirs = AlibiPositionalBias(heads).forward_custom_pos(positions)
    assert_close(alibi(heads).bias(AttentionContext.self_attention(Positions(positions.unsqueeze(-1)))), theirs)


@compare
@given(head_counts, lengths)
def test_weights_against_bloom(heads: int, length: int) -> None:
    """BLOOM adds slope times key position."""
    theirs = build_alibi_tensor(torch.ones(1, length), heads, torch.float32)
    same_weights(alibi(heads).bias(AttentionContext.self_attention(Positions.range(length)))[0], theirs)


@compare
@given(head_counts, lengths, st.sampled_from([4, 8, 16]))
def test_weights_against_mpt(heads: int, length: int, max_bias: int) -> None:
    """MPT takes its slopes from the next higher power of two, with another steepest head; they are the same."""
    theirs = build_mpt_alibi_tensor(heads, length, alibi_bias_max=max_bias)
    same_weights(
        alibi(heads, max_bias=max_bias).bias(AttentionContext.self_attention(Positions.range(length)))[0], theirs
    )


def test_twelve_heads_as_the_authors_have_them() -> None:
    """Eight slopes of eight heads, then every other one of sixteen."""
    official = [2.0**-h for h in range(1, 9)] + [2.0**-0.5, 2.0**-1.5, 2.0**-2.5, 2.0**-3.5]
    assert_close(alibi(12).relative_bias(torch.tensor([1]))[:, 0], -torch.tensor(official))


@compare
@given(head_counts, st.floats(0, 5), st.booleans())
def test_asymmetric(heads: int, ratio: float, consecutive: bool) -> None:
    """One slope to the left, that slope times the ratio to the right."""
    positions = Positions.range(9) if consecutive else Positions(torch.arange(9).view(1, 9, 1))
    bias = alibi(heads, causal=False, sides="asymmetric", ratio=ratio).bias(
        AttentionContext.self_attention(positions, causal=False)
    )
    slopes = AlibiPositionalBias(heads).slopes.flatten().tolist()
    for head, i, j in torch.cartesian_prod(torch.arange(heads), torch.arange(9), torch.arange(9)).tolist():
        want = -slopes[head] * (i - j if j <= i else ratio * (j - i))
        assert float(bias[0, head, i, j]) == pytest.approx(want, rel=1e-6)
