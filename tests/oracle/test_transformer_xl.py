"""Products with sines of the distance against XLNet's attention, and against the formula written out."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from transformers import XLNetConfig
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create
from ordinate.model import BoundEncoding, attend

compare = settings(deadline=None, derandomize=True, max_examples=15)
rounding = {"atol": 1e-5, "rtol": 1e-5}
sizes = st.integers(1, 4)
widths = st.sampled_from([2, 4, 6])
lengths = st.integers(1, 30)


@compare
@given(sizes, widths, lengths, st.integers(0, 12), st.booleans())
def test_against_xlnet(heads: int, width: int, queries: int, before: int, causal: bool) -> None:
    """A whole attention layer with copied weights, behind tokens that came earlier (its memory)."""
    dim, keys = heads * width, before + queries
    model = XLNetModel(XLNetConfig(vocab_size=2, d_model=dim, n_head=heads, n_layer=1, d_inner=4, dropout=0.0))
    theirs: XLNetRelativeAttention = model.layer[0].rel_attn
    for weight in theirs.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    ours = create("transformer_xl", dim=dim, heads=heads, length=32, causal=causal)
    ours.projection.data = theirs.r.detach().permute(1, 2, 0).clone()
    ours.u.data, ours.v.data = theirs.r_w_bias.detach().clone(), theirs.r_r_bias.detach().clone()

    x = torch.randn(2, keys, dim)
    q, k, v = (torch.einsum("bnd,dhe->bhne", x, weight) for weight in (theirs.q, theirs.k, theirs.v))
    context = AttentionContext(
        Positions.range(queries, start=before), Positions.range(keys), causal=causal, start=before
    )
    found = attend(q[:, :, before:], k, v, BoundEncoding(ours, context))

    heads_first = [part.permute(2, 0, 1, 3) for part in (q[:, :, before:], k, v)]
    waves = model.relative_positional_encoding(queries, keys, bsz=2)
    hidden = None if context.visible is None else (~context.visible).float()[0, 0, :, :, None, None]
    positions = torch.einsum("jbd,dhe->jbhe", waves, theirs.r)
    want = theirs.rel_attn_core(*heads_first, positions, attn_mask=hidden)
    assert_close(found, want.permute(1, 2, 0, 3), **rounding)


def by_loops(encoding: Encoding, q: Tensor, k: Tensor, at: Tensor) -> Tensor:
    """The formula for one sequence, a head, a query and a key at a time."""
    wave = encoding.base ** -(torch.arange(0, encoding.width, 2, dtype=q.dtype) / encoding.width)
    found = q.new_zeros(len(q), q.shape[1], k.shape[1])
    for h, i, j in torch.cartesian_prod(*map(torch.arange, found.shape)).tolist():
        angle = (at[i] - at[j]) * wave
        distance = encoding.projection[h] @ torch.cat((angle.sin(), angle.cos()))
        found[h, i, j] = (q[h, i] + encoding.u[h]) @ k[h, j] + (q[h, i] + encoding.v[h]) @ distance
    return found / q.shape[-1] ** 0.5


@compare
@given(sizes, st.integers(1, 5), st.integers(1, 8), st.sampled_from([3.0, 10_000.0]), st.booleans(), st.booleans())
def test_any_positions(heads: int, width: int, length: int, base: float, causal: bool, consecutive: bool) -> None:
    """Odd widths too; fractions and negative numbers as positions, others for every sequence."""
    shape = dict(dim=heads * width, heads=heads, length=32, causal=causal)
    encoding = create("transformer_xl", **shape, base=base, std=1.0).double()
    positions = (
        Positions.range(length) if consecutive else Positions(torch.randn(2, length, 1, dtype=torch.float64) * 20)
    )
    q, k = torch.randn(2, 2, heads, length, width, dtype=torch.float64)
    context = AttentionContext.self_attention(positions, causal=causal)
    hidden = torch.zeros(1, dtype=torch.bool) if context.visible is None else ~context.visible
    found = encoding.qk_scores(q, k, context).masked_fill(hidden, 0)
    at = positions.values[..., 0].double().expand(2, -1)
    want = torch.stack([by_loops(encoding, q[b], k[b], at[b]) for b in range(2)]).masked_fill(hidden, 0)
    assert_close(found, want, atol=1e-5, rtol=1e-5)  # frequencies are those of float32


@compare
@given(st.booleans(), st.booleans(), st.integers(1, 4), st.integers(0, 3))
def test_gradients_by_finite_differences(causal: bool, consecutive: bool, queries: int, before: int) -> None:
    encoding = create("transformer_xl", dim=4, heads=2, length=8, causal=causal, std=1.0).double()
    keys = Positions.range(before + queries) if consecutive else Positions(torch.randn(1, before + queries, 1).double())
    context = AttentionContext(keys.slice(before, before + queries), keys, causal=causal)
    q, k = torch.randn(1, 2, queries, 2).double(), torch.randn(1, 2, before + queries, 2).double()

    def scores(q: Tensor, k: Tensor, *weights: Tensor) -> Tensor:
        """The weights are the encoding's own, changed in place."""
        found = encoding.qk_scores(q, k, context)
        return found if context.visible is None else found.masked_fill(~context.visible, 0)

    assert torch.autograd.gradcheck(scores, (q.requires_grad_(), k.requires_grad_(), *encoding.parameters()))
