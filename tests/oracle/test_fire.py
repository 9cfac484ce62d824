"""FIRE against its formula in plain Python: no package has a right one."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.core.encoding import Encoding
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


def network(encoding: Encoding, ratio: float) -> list[float]:
    """The two-layer network at one number, for every head."""
    inner = zip(encoding.inner[:, 0].tolist(), encoding.inner_bias.tolist(), strict=True)
    hidden = [max(0.0, w * ratio + b) for w, b in inner]
    return [sum(w * h for w, h in zip(row, hidden, strict=True)) for row in encoding.outer.tolist()]


@compare
@given(st.integers(1, 6), st.floats(1, 600), st.floats(0.01, 3), st.floats(0.2, 2), st.sampled_from([20, 9000]))
def test_formula(heads: int, threshold: float, c: float, multiplier: float, limit: int) -> None:
    """Any parameters and positions; the query's own position normalizes once it is past the threshold."""
    encoding = create("fire", dim=4 * heads, heads=heads, length=32, hidden=10, threshold=threshold)
    encoding.c.data.fill_(-c)  # the formula takes its magnitude
    encoding.multiplier.data.fill_(multiplier)
    positions = torch.randperm(limit)[:8].sort().values.tolist()
    bias = encoding.bias(AttentionContext.self_attention(Positions(torch.tensor(positions).view(1, -1, 1))))
    for query, i in enumerate(positions):
        for key, j in enumerate(positions[: query + 1]):
            ratio = math.log(c * (i - j) + 1) / (math.log(c * max(multiplier * threshold, i) + 1) + 1e-6)
            assert bias[0, :, query, key].tolist() == pytest.approx(network(encoding, ratio), abs=1e-5)


@compare
@given(st.integers(1, 6), st.integers(16, 200))
def test_ends_of_the_scale(heads: int, length: int) -> None:
    """A token sees itself at f(0), and the first token at f(1) once it is past the trained length."""
    encoding = create("fire", dim=4 * heads, heads=heads, length=16)
    bias = encoding.bias(AttentionContext.self_attention(Positions.range(length)))[0]
    near, far = (torch.tensor(network(encoding, end)) for end in (0.0, 1.0))
    assert_close(bias.diagonal(dim1=1, dim2=2), near[:, None].expand(heads, length))
    assert_close(bias[:, 16:, 0], far[:, None].expand(heads, length - 16), atol=1e-5, rtol=0)  # the 1e-6 above


@compare
@given(st.integers(1, 4), st.integers(1, 40), st.integers(0, 30), st.floats(0.1, 3), st.booleans())
def test_consecutive_queries_up_to_the_threshold_are_computed_by_gap(
    heads: int, length: int, start: int, multiplier: float, parts: bool
) -> None:
    """Nothing changes: neither values nor gradients, and not when many pairs go in parts."""
    encoding = create("fire", dim=4 * heads, heads=heads, length=16)
    encoding.multiplier.data.fill_(-multiplier)
    positions = Positions.range(length, start=start)
    weighting, found = torch.randn(heads, length, length).tril(), []
    for at in (
        positions,
        Positions(positions.values),
    ):  # the second does not promise that its positions are consecutive
        with pytest.MonkeyPatch.context() as patch:
            if parts:
                patch.setattr("ordinate.encodings.fire._AT_ONCE", 64)
            bias = encoding.bias(AttentionContext.self_attention(at))[0]
        found.append([bias.tril(), *torch.autograd.grad(bias, tuple(encoding.parameters()), weighting)])
    for a, b in zip(*found, strict=True):
        assert_close(a, b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("share", [False, True])
def test_layers_share_the_network_if_asked(share: bool) -> None:
    assert create("fire", dim=8, heads=2, length=8, share_layers=share).per_layer is not share
    assert create("fire", dim=8, heads=2, length=8, c=0.3).c.item() == pytest.approx(0.3)
