"""Forget gates against x-transformers and explicit sums; their cache and their padding."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from x_transformers.x_transformers import DataDependentAlibi

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
sizes = st.integers(1, 5)
lengths = st.integers(1, 40)


def fox(heads: int, start: float = 1.0) -> Encoding:
    """Gates that differ much between tokens."""
    encoding = create("fox", dim=4 * heads, heads=heads, length=32, start=start)
    torch.nn.init.normal_(encoding.weight)
    return encoding


def added(encoding: Encoding, x: Tensor, positions: Positions) -> Tensor:
    """What the encoding adds to scores, 0 where nothing is seen."""
    context = AttentionContext.self_attention(positions)
    nothing = x.new_zeros(len(x), encoding.shape.heads, x.shape[1], x.shape[1])
    found = encoding.score_mod(
        nothing, nothing[..., :1], nothing[:, :, :1].mT, context, encoding.features(x, positions, None)
    )
    return found.masked_fill(~context.visible, 0)


@compare
@given(sizes, sizes, lengths, st.sampled_from([-2.0, 0.0, 5.0]))
def test_against_x_transformers(batch: int, heads: int, length: int, start: float) -> None:
    """Values, and gradients of input and weights; as it starts, too."""
    ours, theirs = fox(heads, start), DataDependentAlibi(4 * heads, heads)
    gates = theirs.to_forget_gates[0]
    gates.weight.data, gates.bias.data = ours.weight.detach().clone(), ours.offset.detach().clone()
    x = torch.randn(batch, length, 4 * heads, requires_grad=True)
    found, want = added(ours, x, Positions.range(length)), theirs(x).tril()
    assert_close(found, want, atol=2e-5, rtol=1e-5)
    upstream = torch.randn_like(want).tril()
    to_ours = torch.autograd.grad(found, (x, ours.weight, ours.offset), upstream)
    to_theirs = torch.autograd.grad(want, (x, gates.weight, gates.bias), upstream)
    for mine, other in zip(to_ours, to_theirs, strict=True):
        assert_close(mine, other, atol=1e-4 * max(1, other.abs().max().item()), rtol=1e-4)


def test_it_starts_as_x_transformers_does() -> None:
    encoding = create("fox", dim=8, heads=2, length=32)
    assert torch.equal(encoding.offset, DataDependentAlibi(8, 2).to_forget_gates[0].bias)


@compare
@given(sizes, st.integers(1, 8), st.integers(1, 8))
def test_sums_of_real_tokens(heads: int, first: int, second: int) -> None:
    """A sum over the tokens between, in two parts as a cache gives them; padding is left out."""
    encoding, length = fox(heads).double(), first + second
    x = torch.randn(2, length, 4 * heads, dtype=torch.float64)
    padding_mask = torch.rand(2, length) > 0.3
    positions = Positions(Positions.range(length).values, padding_mask=padding_mask)
    early = encoding.features(x[:, :first], positions.slice(0, first), None)
    late = encoding.features(x[:, first:], positions.slice(first, length), early)
    nothing = x.new_zeros(2, heads, second, length)
    context = AttentionContext(positions.slice(first, length), positions)
    found = encoding.score_mod(
        nothing, nothing[..., :1], nothing[:, :, :1].mT, context, torch.cat((early, late), dim=1)
    )
    gate = (x @ encoding.weight.t() + encoding.offset).sigmoid().log()
    for b, h, i, j in torch.cartesian_prod(*map(torch.arange, (2, heads, second, length))).tolist():
        if j <= first + i:
            between = [gate[b, s, h] for s in range(j + 1, first + i + 1) if padding_mask[b, s]]
            assert_close(found[b, h, i, j], sum(between, start=torch.zeros((), dtype=torch.float64)))


def test_gradients_by_finite_differences() -> None:
    encoding = fox(2).double()
    x = torch.randn(2, 5, 8, dtype=torch.float64, requires_grad=True)
    q, k = torch.randn(2, 2, 2, 5, 3, dtype=torch.float64).requires_grad_().unbind()
    context = AttentionContext.self_attention(Positions.range(5))

    def scores(x: Tensor, q: Tensor, k: Tensor, *weights: Tensor) -> Tensor:
        """The weights are the encoding's own, changed in place."""
        return encoding.score_mod(q @ k.mT, q, k, context, encoding.features(x, context.k, None))

    leaves = (x, q.detach().requires_grad_(), k.detach().requires_grad_(), *encoding.parameters())
    assert torch.autograd.gradcheck(scores, leaves)
