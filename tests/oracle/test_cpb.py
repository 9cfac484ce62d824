"""Networks from offset to bias against Swin V2 in transformers (grids) and against x-transformers (text)."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from transformers import Swinv2Config
from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention
from x_transformers.x_transformers import DynamicPositionBias

from ordinate import InputError
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


def grid(rows: int, columns: int) -> Positions:
    return Positions(torch.cartesian_prod(torch.arange(rows), torch.arange(columns))[None])


@compare
@given(st.integers(1, 4), st.integers(2, 7), st.integers(0, 7))
def test_swin_v2(heads: int, window: int, trained: int) -> None:
    """A window, and one that was trained at another size; the whole bias, from copied weights."""
    trained = window if trained < 2 else trained
    ours = create("cpb", dim=4 * heads, heads=heads, length=9, axes=2, causal=False, window=trained)
    theirs = Swinv2SelfAttention(Swinv2Config(), 4 * heads, heads, window, [trained, trained])
    inner, _, outer = theirs.continuous_position_bias_mlp
    (inner.weight,), (inner.bias,), outer.weight = ours.weights, ours.biases, ours.outer

    table = theirs.continuous_position_bias_mlp(theirs.relative_coords_table).view(-1, heads)
    size = window * window
    want = 16 * torch.sigmoid(table[theirs.relative_position_index.view(-1)].view(size, size, heads).permute(2, 0, 1))
    assert_close(
        ours.bias(AttentionContext.self_attention(grid(window, window), causal=False))[0], want, rtol=1e-5, atol=1e-5
    )


@compare
@given(
    st.integers(1, 6), st.integers(1, 40), st.integers(0, 20), st.sampled_from([1, 2, 3]), st.booleans(), st.booleans()
)
def test_x_transformers(heads: int, queries: int, before: int, depth: int, log: bool, causal: bool) -> None:
    """The last queries of a longer sequence. Its last layer has a bias that ours leaves out: it cancels."""
    distance = "log" if log else "plain"
    ours = create(
        "cpb", dim=4 * heads, heads=heads, length=32, causal=causal, hidden=16, depth=depth, activation="silu",
        distance=distance, bound=None,
    )  # fmt: skip
    theirs = DynamicPositionBias(16, heads=heads, depth=depth, log_distance=log)
    for layer, weight, bias in zip(theirs.mlp, ours.weights, ours.biases, strict=False):
        linear = next(part for part in layer if isinstance(part, torch.nn.Linear))
        linear.weight, linear.bias = weight, bias
    theirs.mlp[-1].weight = ours.outer
    torch.nn.init.zeros_(theirs.mlp[-1].bias)
    keys = before + queries
    context = AttentionContext(
        Positions.range(queries, start=before), Positions.range(keys), causal=causal, start=before
    )
    assert_close(ours.bias(context)[0], theirs(queries, keys), rtol=1e-4, atol=1e-5)


@compare
@given(st.integers(1, 4), st.integers(1, 9), st.integers(1, 9), st.booleans(), st.floats(0.5, 20))
def test_once_for_each_offset_or_for_each_pair(heads: int, rows: int, columns: int, causal: bool, bound: float) -> None:
    """Whole positions share the offsets' values; the same positions as real numbers are evaluated one by one."""
    ours = create("cpb", dim=4 * heads, heads=heads, length=9, axes=2, causal=causal, hidden=8, bound=bound)
    positions = grid(rows, columns)
    real = Positions(positions.values.double())
    whole, single = (ours.bias(AttentionContext.self_attention(at, causal=causal)) for at in (positions, real))
    assert_close(whole, single, rtol=1e-5, atol=1e-5)
    assert whole.min() >= 0 and whole.max() <= bound
    shuffled = torch.stack([torch.randperm(rows * columns) for _ in range(3)])
    several = ours.bias(AttentionContext.self_attention(Positions(positions.values[0][shuffled]), causal=causal))
    for row, order in zip(several, shuffled, strict=True):
        assert_close(row, whole[0][:, order][:, :, order], rtol=1e-5, atol=1e-5)


@compare
@given(st.integers(2, 40), st.integers(1, 60))
def test_text_is_a_grid_of_one_row(window: int, length: int) -> None:
    text = create("cpb", dim=8, heads=2, length=32, window=window)
    image = create("cpb", dim=8, heads=2, length=32, axes=2, window=window)
    text.weights[0].data = image.weights[0].data[:, 1:]
    text.biases[0], text.outer = image.biases[0], image.outer
    assert_close(
        text.bias(AttentionContext.self_attention(Positions.range(length))),
        image.bias(AttentionContext.self_attention(grid(1, length))),
        rtol=1e-5,
        atol=1e-5,
    )


def test_the_window_is_the_side_of_a_grid() -> None:
    assert create("cpb", dim=8, heads=2, length=6, axes=2).window == 6
    assert create("cpb", dim=8, heads=2, length=6).window == 6


def test_a_window_that_nobody_reads_is_refused() -> None:
    with pytest.raises(InputError, match="choose distance=window"):
        create("cpb", dim=8, heads=2, length=8, distance="log", window=4)
