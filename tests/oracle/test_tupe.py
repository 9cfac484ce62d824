"""TUPE's attention written out, one pair at a time; its buckets from transformers' T5."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from transformers.models.t5.modeling_t5 import T5Attention

from ordinate import AttentionContext, BoundEncoding, InputError, Positions, attend
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


@compare
@given(
    st.integers(1, 4), st.integers(2, 20), st.booleans(), st.booleans(), st.sampled_from([(32, 128), (8, 12)]),
    st.floats(0, 2),
)  # fmt: skip
def test_attention(heads: int, length: int, causal: bool, untied: bool, ranges: tuple[int, int], std: float) -> None:
    """Words over sqrt(2d) plus positions over sqrt(2d) plus the bucket's number; [CLS] untied as in equation 10."""
    width, (buckets, farthest) = 4, ranges
    ours = create(
        "tupe", dim=width * heads, heads=heads, length=24, causal=causal, untied=untied, buckets=buckets,
        farthest=farthest, std=std,
    )  # fmt: skip
    if untied:
        ours.to_first.data.normal_()
    q, k, v = torch.randn(3, 2, heads, length, width)
    bound = BoundEncoding(ours, AttentionContext.self_attention(Positions.range(length), causal=causal))
    found = attend(*bound.rotate(q, k), v, bound)

    at = torch.arange(length)
    bucket = T5Attention._relative_position_bucket(
        at[None] - at[:, None], bidirectional=not causal, num_buckets=buckets, max_distance=farthest
    )
    scores = torch.full((2, heads, length, length), -math.inf)
    for head in range(heads):
        own = slice(width * head, width * (head + 1))
        for i in range(length):
            for j in range(i + 1 if causal else length):
                position = ours.table[bucket[i, j], head]
                position = position + (ours.queries[own] @ ours.vectors[i]) @ (ours.keys[own] @ ours.vectors[j]) / (
                    math.sqrt(2 * width)
                )
                if untied and i == 0:
                    position = 0.7  # any one number for the whole row
                elif untied and j == 0:
                    position = ours.to_first[head]
                words = (q[:, head, i] * k[:, head, j]).sum(dim=-1) / math.sqrt(2 * width)
                scores[:, head, i, j] = words + position
    assert_close(found, scores.softmax(dim=-1) @ v, rtol=1e-4, atol=1e-5)


def test_positions_end_with_the_table() -> None:
    ours = create("tupe", dim=8, heads=2, length=8, rows=12)
    assert ours.extrapolation == "untrained"
    ours.bias(AttentionContext.self_attention(Positions.range(12)))
    with pytest.raises(InputError, match="position 12 is out of range"):
        ours.bias(AttentionContext.self_attention(Positions.range(13)))
    assert create("tupe", dim=8, heads=2, length=8).extrapolation == "refuses"


def test_ranges_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="farthest must exceed"):
        create("tupe", dim=8, heads=2, length=8, farthest=16)
