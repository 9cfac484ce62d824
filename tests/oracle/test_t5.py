"""Bucketed biases against T5 and x-transformers."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Attention
from x_transformers.x_transformers import RelativePositionBias

from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create
from ordinate.encodings._shared.buckets import t5_bucket

compare = settings(deadline=None, derandomize=True, max_examples=20)
bucket_counts = st.sampled_from([4, 7, 8, 20, 32, 33, 64])
distances = st.sampled_from([65, 100, 128, 1000])


@compare
@given(bucket_counts, distances, st.booleans())
def test_buckets(buckets: int, farthest: int, causal: bool) -> None:
    """Every gap on both sides, past the farthest too."""
    gaps = torch.arange(-3000, 3001)
    theirs = T5Attention._relative_position_bucket(
        -gaps, bidirectional=not causal, num_buckets=buckets, max_distance=farthest
    )
    assert torch.equal(t5_bucket(gaps, causal=causal, buckets=buckets, farthest=farthest), theirs)


@compare
@given(st.integers(1, 9), bucket_counts, distances, st.booleans(), st.integers(1, 150), st.integers(0, 150))
def test_bias(heads: int, buckets: int, farthest: int, causal: bool, queries: int, before: int) -> None:
    """The last queries of a longer sequence; x-transformers multiplies by its scale."""
    ours = create("t5", dim=4 * heads, heads=heads, length=32, causal=causal, buckets=buckets, farthest=farthest)
    keys = before + queries
    context = AttentionContext(
        Positions.range(queries, start=before), Positions.range(keys), causal=causal, start=before
    )

    config = T5Config(
        d_model=8, num_heads=heads, is_decoder=causal, relative_attention_num_buckets=buckets,
        relative_attention_max_distance=farthest,
    )  # fmt: skip
    t5 = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    t5.relative_attention_bias.weight = ours.table
    assert torch.equal(ours.bias(context), t5.compute_bias(queries, keys, past_seen_tokens=before))

    scaled = RelativePositionBias(2.0, causal, buckets, farthest, heads)
    scaled.relative_attention_bias.weight = ours.table
    assert torch.equal(2.0 * ours.bias(context)[0], scaled(queries, keys))


@compare
@given(st.booleans(), st.integers(1, 4))
def test_any_positions(causal: bool, batch: int) -> None:
    """Positions with jumps, another set for every sequence, read the same table."""
    ours = create("t5", dim=8, heads=2, length=32, causal=causal)
    positions = torch.randint(500, (batch, 12))
    relative = positions[:, None, :] - positions[:, :, None]
    bucket = T5Attention._relative_position_bucket(relative, bidirectional=not causal)
    found = ours.bias(AttentionContext.self_attention(Positions(positions.unsqueeze(-1)), causal=causal))
    assert torch.equal(found, ours.table[bucket].movedim(-1, 1))
