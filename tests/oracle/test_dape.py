"""Adapted penalties against the formula, a query and a key at a time, and their hand-written gradient."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create, dape

compare = settings(deadline=None, derandomize=True, max_examples=15)
sizes = st.integers(1, 4)
penalties = st.sampled_from(["kerple", "alibi"])


def make(heads: int, **parameters: object) -> Encoding:
    return create("dape", dim=2 * heads, heads=heads, length=32, **parameters).double()


def total(encoding: Encoding, scores: Tensor, context: AttentionContext) -> Tensor:
    """Scores with all that is added to them; 0 where nothing is seen."""
    q, k = scores[..., :1], scores[:, :, :1].mT  # which it does not read
    found = encoding.score_mod(scores, q, k, context) + encoding.bias(context)
    return found if context.visible is None else found.masked_fill(~context.visible, 0)


def by_loops(encoding: Encoding, scores: Tensor, context: AttentionContext) -> Tensor:
    """A + B + MLP([A; B]), written out."""
    heads, found = encoding.shape.heads, torch.zeros_like(scores)
    gap = context.relative_positions().expand(len(scores), -1, -1).to(scores.dtype)
    for b, i, j in torch.cartesian_prod(*map(torch.arange, gap.shape)).tolist():
        if context.visible is None or context.visible.expand(len(scores), -1, -1, -1)[b, 0, i, j]:
            distance = gap[b, i, j].abs()
            if encoding.raw is None:
                series = [2 ** (-8 * (h + 1) / heads) for h in range(heads)]
                penalty = -distance * torch.tensor(series, dtype=scores.dtype)
            else:
                a, p = F.softplus(encoding.raw)
                penalty = -p * torch.log(1 + a * distance)
            both = torch.cat((scores[b, :, i, j], penalty))
            hidden = F.leaky_relu(encoding.inner @ both + encoding.inner_bias, 0.01)
            found[b, :, i, j] = scores[b, :, i, j] + penalty + encoding.outer @ hidden
    return found


@compare
@given(sizes, st.sampled_from([1, 2, 4]), st.integers(1, 9), penalties, st.integers(1, 9), st.integers(0, 9),
       st.booleans(), st.booleans(), st.sampled_from([1, 10, 4096]))  # fmt: skip
def test_against_the_formula(
    batch: int, heads: int, hidden: int, penalty: str, queries: int, before: int, causal: bool, consecutive: bool,
    tile: int,
) -> None:  # fmt: skip
    """Values and gradients, for the last queries of a longer sequence, in tiles of any size."""
    encoding, keys = make(heads, hidden=hidden, penalty=penalty, causal=causal), before + queries
    positions = Positions.range(keys) if consecutive else Positions(torch.randint(1, 4, (batch, keys, 1)).cumsum(dim=1))
    context = AttentionContext(positions.slice(before, keys), positions, causal=causal)
    scores = torch.randn(batch, heads, queries, keys, dtype=torch.float64, requires_grad=True)
    leaves = (scores, *encoding.parameters())
    want = by_loops(encoding, scores, context)
    upstream = torch.randn_like(want)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dape, "TILE", tile)
        found = total(encoding, scores, context)
        mine = torch.autograd.grad(found, leaves, upstream)
    assert_close(found, want)
    for one, other in zip(mine, torch.autograd.grad(want, leaves, upstream), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("causal", [True, False])
def test_gradients_by_finite_differences(causal: bool) -> None:
    encoding, context = (
        make(2, hidden=3, causal=causal),
        AttentionContext.self_attention(Positions.range(5), causal=causal),
    )
    scores = torch.randn(2, 2, 5, 5, dtype=torch.float64, requires_grad=True)

    def changed(scores: Tensor, *weights: Tensor) -> Tensor:
        """The weights are the encoding's own, changed in place."""
        return total(encoding, scores, context)

    assert torch.autograd.gradcheck(changed, (scores, *encoding.parameters()))


def test_without_its_network_it_is_its_penalty() -> None:
    encoding, alibi = make(4, penalty="alibi"), create("alibi", dim=8, heads=4, length=32)
    torch.nn.init.zeros_(encoding.outer)
    context, scores = AttentionContext.self_attention(Positions.range(9)), torch.randn(1, 4, 9, 9, dtype=torch.float64)
    want = (scores + alibi.bias(context)).masked_fill(~context.visible, 0)
    assert_close(total(encoding, scores, context), want)
