"""A number per clipped distance, against a loop, and against T5 with a bucket for every distance."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate import Transformer
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create
from ordinate.model.config import ModelConfig

compare = settings(deadline=None, derandomize=True, max_examples=15)


@compare
@given(st.integers(1, 6), st.integers(1, 40), st.booleans(), st.sampled_from([30, 3000]))
def test_every_pair_reads_the_number_of_its_clipped_distance(
    heads: int, farthest: int, causal: bool, limit: int
) -> None:
    ours = create("relative", dim=4 * heads, heads=heads, length=32, causal=causal, farthest=farthest)
    positions = torch.randperm(limit)[:9].sort().values.tolist()
    bias = ours.bias(AttentionContext.self_attention(Positions(torch.tensor(positions).view(1, -1, 1)), causal=causal))
    for query, i in enumerate(positions):
        for key, j in enumerate(positions):
            row = max(-farthest, min(farthest, i - j)) + farthest
            if causal:
                row = max(0, min(farthest, i - j))
            assert torch.equal(bias[0, :, query, key], ours.table[row])


@compare
@given(st.integers(1, 30), st.integers(1, 60))
def test_t5_with_a_bucket_for_every_distance(farthest: int, length: int) -> None:
    """Of T5's buckets, the first half hold one distance each."""
    sizes = dict(dim=8, heads=2, length=length)
    ours = create("relative", **sizes, farthest=farthest)
    t5 = create("t5", **sizes, buckets=2 * (farthest + 1) + 2, farthest=10**9)
    t5.table.data[:] = ours.table[torch.arange(len(t5.table)).clamp(max=farthest)]
    context = AttentionContext.self_attention(Positions.range(length))
    assert torch.equal(ours.bias(context).tril(), t5.bias(context).tril())


def test_the_farthest_is_the_last_trained_distance_unless_told() -> None:
    assert len(create("relative", dim=8, heads=2, length=20).table) == 20
    assert len(create("relative", dim=8, heads=2, length=20, causal=False).table) == 39
    assert create("relative", dim=8, heads=2, length=20, std=0.0).table.abs().max() == 0


@pytest.mark.parametrize(("share", "tables"), [(True, 1), (False, 3)])
@pytest.mark.parametrize("name", ["relative", "kerple", "learned_alibi", "swin", "cpb", "graph"])
def test_layers_share_or_do_not(name: str, share: bool, tables: int) -> None:
    encoding = f"{name}(share_layers={str(share).lower()})"
    model = Transformer(ModelConfig(vocabulary=5, encoding=encoding, dim=16, heads=2, layers=3, length=8))
    assert len(model.parts) == tables
