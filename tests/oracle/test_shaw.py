"""Vectors by clipped distance against Wav2Vec2-BERT (keys) and explicit loops (keys and values)."""

from itertools import product

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create
from ordinate.model import BoundEncoding, attend

compare = settings(deadline=None, derandomize=True, max_examples=15)
rounding = {"atol": 2e-6, "rtol": 1e-5}
sizes = st.integers(1, 5)
reaches = st.integers(1, 12)


def shaw(heads: int, width: int, **parameters: object) -> Encoding:
    """An encoding whose vectors are as large as keys."""
    return create("shaw", dim=heads * width, heads=heads, length=32, std=1.0, **parameters)


@compare
@given(sizes, sizes, reaches, st.integers(1, 30), st.booleans())
def test_keys_against_wav2vec2_bert(heads: int, width: int, farthest: int, length: int, causal: bool) -> None:
    """A whole attention layer; a causal one has no vectors for keys ahead."""
    config = Wav2Vec2BertConfig(
        hidden_size=heads * width, num_attention_heads=heads, position_embeddings_type="relative_key",
        left_max_position_embeddings=farthest, right_max_position_embeddings=0 if causal else farthest,
        attn_implementation="eager",
    )  # fmt: skip
    theirs = Wav2Vec2BertSelfAttention(config).eval()
    theirs.linear_out = nn.Identity()
    ours = shaw(heads, width, farthest=farthest, causal=causal, values=False)
    ours.keys = theirs.distance_embedding.weight
    context = AttentionContext.self_attention(Positions.range(length), causal=causal)
    mask = torch.zeros(length, length).masked_fill(~context.visible[0, 0], float("-inf")) if causal else None

    x = torch.randn(2, length, heads * width)
    parts = (theirs.linear_q(x), theirs.linear_k(x), theirs.linear_v(x))
    q, k, v = (part.view(2, length, heads, width).transpose(1, 2) for part in parts)
    mixed = attend(q, k, v, BoundEncoding(ours, context))
    assert_close(mixed.transpose(1, 2).flatten(2), theirs(x, attention_mask=mask)[0], **rounding)


def by_loops(q: Tensor, k: Tensor, v: Tensor, encoding: Encoding, positions: Tensor, causal: bool) -> Tensor:
    """Equations 3 and 4 of the paper, for one sequence and one head."""
    out, reach = [], encoding.farthest
    for i, at in enumerate(positions.tolist()):
        seen = range(i + 1 if causal else len(k))
        rows = [max(-reach, min(reach, int(positions[j]) - at)) + reach for j in seen]
        scores = [q[i] @ (k[j] + encoding.keys[row]) / len(q[i]) ** 0.5 for j, row in zip(seen, rows, strict=True)]
        weights = torch.stack(scores).softmax(dim=0)
        out.append(sum(w * (v[j] + encoding.values[row]) for w, j, row in zip(weights, seen, rows, strict=True)))
    return torch.stack(out)


@compare
@given(sizes, sizes, reaches, st.integers(1, 12), st.booleans(), st.booleans())
def test_keys_and_values(heads: int, width: int, farthest: int, length: int, causal: bool, jumps: bool) -> None:
    """Both sides of attention, at consecutive positions and at positions with jumps."""
    encoding = shaw(heads, width, farthest=farthest, causal=causal)
    positions = torch.randperm(60)[:length].sort().values if jumps else torch.arange(length)
    q, k, v = torch.randn(3, 2, heads, length, width)
    context = AttentionContext.self_attention(Positions(positions.view(1, -1, 1)), causal=causal)
    mixed = attend(q, k, v, BoundEncoding(encoding, context))
    for b, h in product(range(2), range(heads)):
        assert_close(mixed[b, h], by_loops(q[b, h], k[b, h], v[b, h], encoding, positions, causal), **rounding)
