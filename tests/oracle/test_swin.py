"""Tables over offsets against Swin in transformers, and against timm, whose file is loaded without the package: that
would ask for torchvision."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.models.swin.modeling_swin import SwinRelativePositionBias

from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


def load_timm() -> ModuleType:
    """timm/layers/pos_embed_rel.py, inside a package that is empty but for its path."""
    package = ModuleType("timm_layers")
    package.__path__ = [str(Path(find_spec("timm").origin).parent / "layers")]  # type: ignore[union-attr, arg-type]
    sys.modules["timm_layers"] = package
    return import_module("timm_layers.pos_embed_rel")


timm = load_timm()


def grid(rows: int, columns: int) -> Positions:
    return Positions(torch.cartesian_prod(torch.arange(rows), torch.arange(columns))[None])


@compare
@given(st.integers(1, 6), st.integers(2, 7))
def test_a_window(heads: int, window: int) -> None:
    ours = create("swin", dim=4 * heads, heads=heads, length=9, axes=2, causal=False, window=window)
    context = AttentionContext.self_attention(grid(window, window), causal=False)
    offsets = context.q.values[:, :, None] - context.k.values[:, None]
    assert torch.equal(ours.index(offsets)[0], timm.gen_relative_position_index((window, window)))
    theirs = SwinRelativePositionBias(heads, (window, window))
    assert theirs.relative_position_bias_table.shape == ours.table.shape
    theirs.relative_position_bias_table = ours.table
    assert torch.equal(ours.bias(context), theirs())


@compare
@given(st.integers(1, 4), st.integers(2, 5), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_any_grid_clips_at_the_windows_edge(heads: int, window: int, rows: int, columns: int, causal: bool) -> None:
    ours = create("swin", dim=4 * heads, heads=heads, length=9, axes=2, causal=causal, window=window)
    positions = grid(rows, columns)
    bias = ours.bias(AttentionContext.self_attention(positions, causal=causal))[0]
    squares = ours.table.view(2 * window - 1, 2 * window - 1, heads)
    edge = window - 1
    for query, (y, x) in enumerate(positions.values[0].tolist()):
        for key, (v, u) in enumerate(positions.values[0].tolist()):
            row, column = (max(-edge, min(edge, step)) + edge for step in (y - v, x - u))
            assert torch.equal(bias[:, query, key], squares[row, column])


@compare
@given(st.integers(1, 4), st.integers(2, 20), st.integers(1, 50))
def test_on_text_it_is_relative(heads: int, window: int, length: int) -> None:
    sizes = dict(dim=4 * heads, heads=heads, length=16, causal=False)
    ours, relative = create("swin", **sizes, window=window), create("relative", **sizes, farthest=window - 1)
    relative.table = ours.table
    context = AttentionContext.self_attention(Positions.range(length), causal=False)
    assert torch.equal(ours.bias(context), relative.bias(context))


def test_the_window_follows_the_trained_length() -> None:
    assert create("swin", dim=8, heads=2, length=20).window == 20
    on_grid = create("swin", dim=8, heads=2, length=6, axes=2)  # a grid of 6 x 6 has offsets of -5 to 5 on each axis
    assert on_grid.window == 6 and len(on_grid.table) == 121
    assert create("swin", dim=8, heads=2, length=20, std=0.0).table.abs().max() == 0
