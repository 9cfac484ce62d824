"""Segments, alone and beside learned positions, against the embeddings of BERT."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertEmbeddings

from ordinate.core.combine import combine
from ordinate.core.positions import Positions
from ordinate.encodings import create


@settings(deadline=None, derandomize=True, max_examples=15)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 50), st.integers(1, 4))
def test_bert_embeddings(dim: int, segments: int, length: int, batch: int) -> None:
    """The sum before BERT's LayerNorm, in BERT's order of addition."""
    config = BertConfig(vocab_size=20, hidden_size=dim, max_position_embeddings=64, type_vocab_size=segments)
    bert = BertEmbeddings(config).eval()
    bert.LayerNorm = nn.Identity()
    segment = create("segment", dim=dim, heads=1, length=64, segments=segments)
    learned = create("learned", dim=dim, heads=1, length=64)
    segment.table, learned.table = bert.token_type_embeddings.weight, bert.position_embeddings.weight

    tokens, types = torch.randint(1, 20, (batch, length)), torch.randint(segments, (batch, length))
    positions = Positions(Positions.range(length).values, segments=types)
    words = bert.word_embeddings(tokens)
    assert torch.equal(combine(segment, learned).embed(words, positions), bert(tokens, token_type_ids=types))
    bert.position_embeddings.weight.data.zero_()
    assert torch.equal(segment.embed(words, positions), bert(tokens, token_type_ids=types))
