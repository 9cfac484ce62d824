"""Vectors added on a grid, against positional-encodings, DETR, timm and axial-positional-embedding."""

import math
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import torch
from axial_positional_embedding import AxialPositionalEmbedding
from hypothesis import given, settings
from hypothesis import strategies as st
from positional_encodings.torch_encodings import PositionalEncoding2D
from torch import Tensor
from torch.nn.functional import interpolate
from torch.testing import assert_close
from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding

from ordinate import InputError
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create


def load_timm() -> ModuleType:
    """timm/layers/pos_embed_sincos.py alone: the package would ask for torchvision."""
    package = ModuleType("timm_layers")
    package.__path__ = [str(Path(find_spec("timm").origin).parent / "layers")]
    sys.modules["timm_layers"] = package
    return import_module("timm_layers.pos_embed_sincos")


timm = load_timm()
compare = settings(deadline=None, derandomize=True, max_examples=15)
sides, quarters, bases = st.integers(1, 20), st.integers(1, 16), st.sampled_from([20.0, 10_000.0])
modes = st.sampled_from(["sum", "concatenate", "cells"])


def grid(height: int, width: int) -> Tensor:
    """(row, column) of every cell, in raster order."""
    return torch.cartesian_prod(torch.arange(height), torch.arange(width))


def added(encoding: Encoding, positions: Tensor) -> Tensor:
    """What the encoding adds to embeddings of zeros, relabeling first as a model does."""
    token_positions = Positions(encoding.relabel(positions[None]))
    return encoding.embed(torch.zeros(1, token_positions.length, encoding.shape.dim), token_positions)[0]


def make(name: str, dim: int, **parameters: object) -> Encoding:
    return create(name, **(dict(dim=dim, heads=1, length=20, axes=2) | parameters))


@compare
@given(sides, sides, quarters)
def test_positional_encodings(height: int, width: int, quarter: int) -> None:
    """Its first axis is the row; each axis has sine and cosine side by side."""
    theirs = PositionalEncoding2D(4 * quarter)(torch.zeros(1, height, width, 4 * quarter))[0].flatten(0, 1)
    assert_close(added(make("sinusoidal_2d", 4 * quarter), grid(height, width)), theirs, atol=1e-5, rtol=0)


@compare
@given(sides, sides, quarters, bases, st.booleans())
def test_detr(height: int, width: int, quarter: int, base: float, normalized: bool) -> None:
    """DETR counts from 1, or brings each side of the image to two pi: real positions do both."""
    theirs = DetrSinePositionEmbedding(2 * quarter, temperature=base, normalize=normalized)(
        torch.Size((1, 3, height, width)), "cpu", torch.float32
    )[0]
    at = grid(height, width).float() + 1
    if normalized:
        at = at / (torch.tensor([height, width]) + 1e-6) * 2 * math.pi
    found = added(make("sinusoidal_2d", 4 * quarter, base=base), at)
    assert_close(found, theirs.flatten(1).T, atol=1e-5, rtol=0)


@compare
@given(sides, sides, quarters, bases, st.sampled_from(["halves", "sines_first"]), st.booleans())
def test_timm(height: int, width: int, quarter: int, base: float, layout: str, swapped: bool) -> None:
    """Its interleaved order is all sines, then all cosines, of an axis; its other, all sines of both axes first."""
    shape = [height, width]
    theirs = timm.build_sincos2d_pos_embed(
        shape, 4 * quarter, temperature=base, reverse_coord=swapped, interleave_sin_cos=layout == "halves"
    )
    at = grid(*(shape[::-1] if swapped else shape))
    assert_close(added(make("sinusoidal_2d", 4 * quarter, base=base, layout=layout), at), theirs, atol=1e-5, rtol=0)


def test_four_divides_the_width() -> None:
    with pytest.raises(InputError, match="a width that 4 divides, a sine and a cosine per axis, got 6"):
        make("sinusoidal_2d", 6)


@compare
@given(sides, sides, st.integers(2, 24), st.booleans())
def test_axial(height: int, width: int, dim: int, summed: bool) -> None:
    """Tables of rows and of columns, added or side by side; and their gradients."""
    halves = (dim - dim // 2, dim // 2)
    theirs = AxialPositionalEmbedding(dim, (height, width), None if summed else halves)
    ours = make("learned_2d", dim, mode="sum" if summed else "concatenate")
    with torch.no_grad():
        for table, weight in zip((ours.row, ours.column), theirs.weights, strict=True):
            line = weight.flatten(0, -2)
            table[: len(line)] = line
    found, want = added(ours, grid(height, width)), theirs(torch.zeros(1, height * width, dim))[0]
    assert torch.equal(found, want)
    upstream = torch.randn_like(want)
    for table, weight in zip((ours.row, ours.column), theirs.weights, strict=True):
        (here,) = torch.autograd.grad(found, table, upstream, retain_graph=True)
        (there,) = torch.autograd.grad(want, weight, upstream, retain_graph=True)
        line = there.flatten(0, -2)
        assert_close(here[: len(line)], line, atol=1e-5, rtol=1e-5)
        assert here[len(line) :].abs().sum() == 0


@compare
@given(st.integers(2, 12), st.integers(2, 10))
def test_a_vector_for_every_cell(side: int, dim: int) -> None:
    ours = make("learned_2d", dim, mode="cells", length=side)
    assert torch.equal(added(ours, grid(side, side)), ours.cells.flatten(0, 1))


@compare
@given(modes, st.integers(2, 9), st.integers(0, 20), st.integers(0, 20))
def test_interpolated_bilinearly(mode: str, side: int, taller: int, wider: int) -> None:
    """The trained square stretched over a larger picture, corners on corners, each axis by its own factor."""
    ours = make("learned_2d", 6, mode=mode, length=side, beyond="interpolate", token_size=1.0)
    trained = added(ours, grid(side, side)).view(1, side, side, 6).permute(0, 3, 1, 2)
    height, width = side + taller, side + wider
    theirs = interpolate(trained, size=(height, width), mode="bilinear", align_corners=True)
    assert_close(added(ours, grid(height, width)), theirs[0].flatten(1).T, atol=side * 2.0**-19, rtol=0)


@compare
@given(modes, st.integers(2, 9), st.integers(1, 20))
def test_clipped(mode: str, side: int, more: int) -> None:
    """Past the last row or column, the last one."""
    ours = make("learned_2d", 6, mode=mode, length=side, beyond="clip")
    at = grid(side + more, side + more)
    assert torch.equal(added(ours, at), added(ours, at.clamp(max=side - 1)))


@pytest.mark.parametrize("mode", ["sum", "concatenate", "cells"])
def test_past_its_rows_it_does_what_it_declares(mode: str) -> None:
    assert make("learned_2d", 6, mode=mode).extrapolation == "refuses"
    assert make("learned_2d", 6, mode=mode, beyond="clip").extrapolation == "clips"
    assert make("learned_2d", 6, mode=mode, beyond="interpolate").extrapolation == "extends"
    assert make("learned_2d", 6, mode=mode, rows=21).extrapolation == "untrained"
    with pytest.raises(InputError, match="position 20 is out of range: learned_2d refuses from position 20 on"):
        added(make("learned_2d", 6, mode=mode), torch.tensor([[3, 20]]))


def test_columns_need_a_channel() -> None:
    with pytest.raises(InputError, match="mode=concatenate needs channels for rows and for columns, got dim 1"):
        make("learned_2d", 1, mode="concatenate")
