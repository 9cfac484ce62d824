"""Disentangled attention against DeBERTa-v2, buckets and whole layers, and against explicit loops."""

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from transformers import DebertaV2Config
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention, make_log_bucket_position

from ordinate import InputError
from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create
from ordinate.encodings._shared.buckets import deberta_bucket
from ordinate.model import BoundEncoding, attend

compare = settings(deadline=None, derandomize=True, max_examples=15)
sizes = st.integers(1, 4)
reaches = st.integers(2, 12)
bucket_counts = st.sampled_from([None, 4, 5, 8])


@compare
@given(st.sampled_from([4, 7, 8, 32, 256]), st.sampled_from([130, 131, 200, 512, 1000]))
def test_buckets(buckets: int, farthest: int) -> None:
    """Every gap on both sides, past the farthest too."""
    gaps = torch.arange(-3000, 3001)
    assert torch.equal(
        deberta_bucket(gaps, buckets, farthest), make_log_bucket_position(gaps, buckets, farthest).long()
    )


def test_known_buckets() -> None:
    assert deberta_bucket(torch.tensor([100, -100, 200, 300]), 256, 512).tolist() == [100, -100, 169, 207]


@compare
@given(sizes, sizes, reaches, bucket_counts, st.integers(1, 25), st.booleans(), st.booleans())
def test_against_deberta_v2(
    heads: int, width: int, farthest: int, buckets: int | None, length: int, causal: bool, consecutive: bool
) -> None:
    """A whole layer with copied weights. The keys' bias that it has and ours has not cancels in the softmax."""
    assume(buckets is None or farthest >= buckets // 2 + 2)
    config = DebertaV2Config(
        hidden_size=heads * width, num_attention_heads=heads, relative_attention=True, pos_att_type=["c2p", "p2c"],
        position_buckets=buckets or -1, max_relative_positions=farthest, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    theirs = DisentangledSelfAttention(config).eval()
    for weight in theirs.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    ours = create(
        "deberta", dim=heads * width, heads=heads, length=32, causal=causal, farthest=farthest, buckets=buckets
    )
    ours.to_keys, ours.to_queries = theirs.pos_key_proj.weight, theirs.pos_query_proj.weight
    ours.queries_bias = theirs.pos_query_proj.bias
    span = buckets or farthest
    vectors = torch.randn(2 * span, heads * width)
    ours.vectors.data = vectors[span:] if causal else vectors
    positions = Positions.range(length) if consecutive else Positions(torch.arange(length).view(1, length, 1))
    context = AttentionContext.self_attention(positions, causal=causal)

    x = torch.randn(2, length, heads * width)
    projected = (theirs.query_proj(x), theirs.key_proj(x), theirs.value_proj(x))
    q, k, v = (part.view(2, length, heads, width).transpose(1, 2) for part in projected)
    found = attend(q, k, v, BoundEncoding(ours, context)).transpose(1, 2).flatten(2)
    mask = torch.ones(1, 1, length, length) if context.visible is None else context.visible
    assert_close(found, theirs(x, mask, rel_embeddings=vectors)[0], atol=1e-5, rtol=1e-5)


def by_loops(encoding: Encoding, q: Tensor, k: Tensor, at: Tensor) -> Tensor:
    """The formula for one sequence, a head, a query and a key at a time."""
    width, reach = q.shape[-1], encoding.farthest
    found = q.new_zeros(len(q), q.shape[1], k.shape[1])
    for h, i, j in torch.cartesian_prod(*map(torch.arange, found.shape)).tolist():
        own, gap = slice(h * width, (h + 1) * width), int(at[i] - at[j])
        row = max(0, min(gap, reach - 1)) if encoding.shape.causal else max(-reach, min(gap, reach - 1)) + reach
        vector = encoding.vectors[row]
        key, query = encoding.to_keys[own] @ vector, encoding.to_queries[own] @ vector + encoding.queries_bias[own]
        found[h, i, j] = q[h, i] @ k[h, j] + q[h, i] @ key + k[h, j] @ query
    return found / (3 * width) ** 0.5


def deberta(heads: int, width: int, **parameters: object) -> Encoding:
    """An encoding in float64 whose vectors are as large as keys."""
    encoding = create("deberta", dim=heads * width, heads=heads, length=32, std=1.0, **parameters).double()
    torch.nn.init.normal_(encoding.queries_bias)
    return encoding


@compare
@given(sizes, sizes, reaches, st.integers(1, 9), st.integers(0, 5), st.booleans(), st.booleans())
def test_any_positions(
    heads: int, width: int, farthest: int, queries: int, before: int, causal: bool, consecutive: bool
) -> None:
    """The last queries of a longer sequence, at positions with jumps too, others for every sequence."""
    encoding, keys = deberta(heads, width, farthest=farthest, causal=causal), before + queries
    jumps = torch.randint(1, 4, (2, keys, 1)).cumsum(dim=1)
    positions = Positions.range(keys) if consecutive else Positions(jumps)
    context = AttentionContext(positions.slice(before, keys), positions, causal=causal)
    q = torch.randn(2, heads, queries, width, dtype=torch.float64)
    k = torch.randn(2, heads, keys, width, dtype=torch.float64)
    hidden = torch.zeros(1, dtype=torch.bool) if context.visible is None else ~context.visible
    found = encoding.qk_scores(q, k, context).masked_fill(hidden, 0)
    at = positions.values[..., 0].expand(2, -1)
    filled = torch.nn.functional.pad(q, (0, 0, before, 0))
    want = torch.stack([by_loops(encoding, filled[b], k[b], at[b])[:, before:] for b in range(2)])
    assert_close(found, want.masked_fill(hidden, 0))


@compare
@given(st.booleans(), st.booleans(), bucket_counts, st.integers(1, 4), st.integers(0, 3))
def test_gradients_by_finite_differences(
    causal: bool, consecutive: bool, buckets: int | None, queries: int, before: int
) -> None:
    encoding, keys = deberta(2, 2, farthest=6, buckets=buckets, causal=causal), before + queries
    positions = Positions.range(keys) if consecutive else Positions(torch.randint(1, 4, (1, keys, 1)).cumsum(dim=1))
    context = AttentionContext(positions.slice(before, keys), positions, causal=causal)
    q = torch.randn(1, 2, queries, 2, dtype=torch.float64, requires_grad=True)
    k = torch.randn(1, 2, keys, 2, dtype=torch.float64, requires_grad=True)

    def scores(q: Tensor, k: Tensor, *weights: Tensor) -> Tensor:
        """The weights are the encoding's own, changed in place."""
        found = encoding.qk_scores(q, k, context)
        return found if context.visible is None else found.masked_fill(~context.visible, 0)

    assert torch.autograd.gradcheck(scores, (q, k, *encoding.parameters()))


def test_what_it_reaches() -> None:
    shape = dict(dim=8, heads=2, length=32)
    assert create("deberta", **shape).farthest == 32
    assert create("deberta", **shape).extrapolation == "clips"
    assert create("deberta", **shape, farthest=33).extrapolation == "untrained"
    with pytest.raises(InputError, match="farthest must be at least 34, got 32"):
        create("deberta", **shape, buckets=64)
