"""Counted positions against x-transformers, and their hand-written gradient against autograd."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from x_transformers.x_transformers import CoPE

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import cope as module
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
sizes = st.integers(1, 5)
counts = st.integers(2, 12)  # few enough that longer sequences run into the clip
lengths = st.integers(1, 40)


def cope(heads: int, width: int, positions: int) -> Encoding:
    """An encoding with a table that has been trained."""
    encoding = create("cope", dim=heads * width, heads=heads, length=32, positions=positions)
    torch.nn.init.normal_(encoding.table)
    return encoding


def draw(batch: int, heads: int, queries: int, keys: int, width: int) -> list[Tensor]:
    """Scores, queries and keys."""
    shapes = ((queries, keys), (queries, width), (keys, width))
    return [torch.randn(batch, heads, *shape, requires_grad=True) for shape in shapes]


@compare
@given(sizes, sizes, st.integers(1, 16), counts, lengths, st.integers(0, 20))
def test_against_x_transformers(batch: int, heads: int, width: int, positions: int, queries: int, before: int) -> None:
    """Values and gradients, for the last queries of a longer sequence."""
    keys = before + queries
    ours, theirs = cope(heads, width, positions), CoPE(width, heads, positions)
    theirs.pos_emb.data = ours.table.detach().t().clone()
    scores, q, k = draw(batch, heads, queries, keys, width)
    context = AttentionContext(Positions.range(queries, start=before), Positions.range(keys), start=before)
    hidden = ~context.visible

    found = ours.score_mod(scores, q, k, context).masked_fill(hidden, 0)
    want = (scores + theirs(q, scores.masked_fill(hidden, float("-inf")))).masked_fill(hidden, 0)
    assert_close(found, want, atol=2e-5, rtol=1e-5)  # counts up to 60 are good to 2^-18, times differences of rows

    upstream = torch.randn_like(found)
    to_ours = torch.autograd.grad(found, (scores, q, ours.table), upstream)
    to_theirs = torch.autograd.grad(want, (scores, q, theirs.pos_emb), upstream)
    for mine, other in zip(to_ours, (*to_theirs[:2], to_theirs[2].t()), strict=True):
        assert_close(mine, other, atol=1e-4, rtol=1e-4)


def counted(scores: Tensor, q: Tensor, table: Tensor, visible: Tensor) -> Tensor:
    """The formula, a query and a key at a time, left to autograd."""
    result = scores.clone()
    for row in torch.cartesian_prod(*map(torch.arange, scores.shape[:3])).tolist():
        seen = visible.expand(scores.shape)[tuple(row)]
        gates = torch.where(seen, scores[tuple(row)].sigmoid(), 0.0)
        for j in range(scores.shape[3]):
            count = gates[j:].sum().clamp(max=table.shape[1] - 1)
            low, high = int(count.floor()), int(count.ceil())
            embedding = torch.lerp(table[:, low], table[:, high], count - low)
            result[(*row, j)] = scores[(*row, j)] + q[tuple(row)] @ embedding
    return result


@settings(compare, max_examples=6)
@given(counts, st.integers(2, 12))
def test_padding_and_documents(positions: int, length: int) -> None:
    """Tokens that are not seen are not counted: padding, and other documents."""
    encoding = cope(2, 4, positions)
    document_ids, padding_mask = torch.randint(2, (2, length)).cumsum(dim=1), torch.rand(2, length) > 0.3
    token_positions = Positions(Positions.range(length).values, document_ids=document_ids)
    token_positions = replace(token_positions, padding_mask=padding_mask)
    context = AttentionContext(token_positions, token_positions, mask_documents=True)
    scores, q, k = draw(2, 2, length, length, 4)
    hidden = ~context.visible

    found = encoding.score_mod(scores, q, k, context).masked_fill(hidden, 0)
    want = counted(scores, q, encoding.table, context.visible).masked_fill(hidden, 0)
    assert_close(found, want, atol=2e-5, rtol=1e-5)
    upstream, leaves = torch.randn_like(found), (scores, q, encoding.table)
    for mine, plain in zip(*(torch.autograd.grad(x, leaves, upstream) for x in (found, want)), strict=True):
        assert_close(mine, plain, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_gradients_by_finite_differences(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few queries at a time or all at once; counts that run into the clip, and some that do not."""
    monkeypatch.setattr(module, "ROWS", rows)
    encoding, context = (
        cope(2, 2, 3).double(),
        AttentionContext(Positions.range(5, start=2), Positions.range(7), start=2),
    )
    scores, q, k = (x.detach().double().requires_grad_() for x in draw(2, 2, 5, 7, 2))

    def changed(scores: Tensor, q: Tensor, table: Tensor) -> Tensor:
        """The table is the encoding's own, changed in place."""
        return encoding.score_mod(scores, q, k, context).masked_fill(~context.visible, 0)

    assert torch.autograd.gradcheck(changed, (scores, q, encoding.table))
