"""The fused kernel with a gradient for its bias, against attention written out and differentiated by autograd."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ordinate.model.toeplitz import antidiagonal_sums, toeplitz_attention
from ordinate.model.trained_bias import biased_attention

compare = settings(deadline=None, derandomize=True, max_examples=15)


def leaves(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [torch.randn(shape).requires_grad_() for shape in shapes]


def written_out(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]) + bias, dim=-1) @ v


def gradients(out: Tensor, given: list[Tensor], weighting: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(out, given, weighting, retain_graph=True))


@compare
@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 150), st.integers(0, 40), st.booleans(), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_a_dense_bias(
    batch: int, heads: int, queries: int, before: int, causal: bool, per_row: bool, per_head: bool
) -> None:
    keys = queries + before
    q, k, v = leaves((batch, heads, queries, 8), *[(batch, heads, keys, 8)] * 2)
    (bias,) = leaves((batch if per_row else 1, heads if per_head else 1, queries, keys))
    hidden = torch.ones(queries, keys, dtype=torch.bool).triu(before + 1) if causal else torch.zeros(1, 1).bool()
    given = [q, k, v, bias]
    masked = bias.masked_fill(hidden, -math.inf)
    found = biased_attention(q, k, v, masked, before if causal else None)
    want = written_out(q, k, v, masked)
    weighting = torch.randn_like(want)
    assert_close(found, want, atol=1e-5, rtol=1e-5)
    for a, b in zip(gradients(found, given, weighting), gradients(want, given, weighting), strict=True):
        assert_close(a, b, atol=1e-4, rtol=1e-4)


@compare
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 150), st.integers(0, 40), st.booleans(), st.booleans())
def test_a_line(batch: int, heads: int, queries: int, before: int, causal: bool, per_head: bool) -> None:
    keys = queries + before
    q, k, v = leaves((batch, heads, queries, 8), *[(batch, heads, keys, 8)] * 2)
    (line,) = leaves((heads if per_head else 1, queries + keys - 1))
    given = [q, k, v, line]
    gap = before + torch.arange(queries)[:, None] - torch.arange(keys)
    visible = line.masked_fill(torch.arange(keys - 1, -queries, -1) < 0, -math.inf) if causal else line
    found = toeplitz_attention(q, k, v, visible, causal=causal)
    want = written_out(q, k, v, visible[:, keys - 1 - gap])
    weighting = torch.randn_like(want)
    assert_close(found, want, atol=1e-5, rtol=1e-5)
    for a, b in zip(gradients(found, given, weighting), gradients(want, given, weighting), strict=True):
        assert_close(a, b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("layout", ["apart", "interleaved"])
def test_heads_may_lie_anywhere_in_memory(layout: str) -> None:
    """Models cut queries, keys and values out of one product."""
    whole = torch.randn(2, 70, 6, 8)
    heads = whole.transpose(1, 2) if layout == "interleaved" else whole.transpose(1, 2).contiguous()
    heads = heads.requires_grad_()
    bias = torch.randn(1, 2, 70, 70).requires_grad_()
    given, cut = [heads, bias], [heads[:, :2], heads[:, 2:4], heads[:, 4:]]
    found, want = biased_attention(*cut, bias, None), written_out(*cut, bias)
    weighting = torch.randn_like(want)
    for a, b in zip(gradients(found, given, weighting), gradients(want, given, weighting), strict=True):
        assert_close(a, b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (5, 1), (3, 4), (6, 2)])
def test_antidiagonals_are_summed_as_a_loop_does(rows: int, columns: int) -> None:
    x = torch.randn(2, rows, columns, dtype=torch.float64, generator=torch.Generator().manual_seed(rows))
    expected = torch.zeros(2, rows + columns - 1, dtype=torch.float64)
    for i in range(rows):
        for j in range(columns):
            expected[:, i + j] += x[:, i, j]
    assert_close(antidiagonal_sums(x), expected)
