"""Rotations on a grid against timm, whose file is loaded without the package: that would ask for torchvision."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create


def load_timm() -> ModuleType:
    """timm/layers/pos_embed_sincos.py, inside a package that is empty but for its path."""
    package = ModuleType("timm_layers")
    package.__path__ = [str(Path(find_spec("timm").origin).parent / "layers")]
    sys.modules["timm_layers"] = package
    return import_module("timm_layers.pos_embed_sincos")


timm = load_timm()
compare = settings(deadline=None, derandomize=True, max_examples=15)
quarters, sides, heads_of = st.integers(1, 12), st.integers(1, 12), st.integers(1, 5)
orders = st.sampled_from(["ij", "xy"])
pairs_of = st.sampled_from(["halves", "interleaved"])


def rope_2d(width: int, heads: int, **parameters: object) -> Encoding:
    """An encoding for a grid."""
    return create("rope_2d", dim=heads * width, heads=heads, length=16, causal=False, axes=2, **parameters)


def turned(encoding: Encoding, x: Tensor, height: int, width: int, order: str) -> Tensor:
    """Queries in raster order; timm's "ij" reads (row, column) as we do, its "xy" reads (column, row)."""
    grid = torch.cartesian_prod(torch.arange(height), torch.arange(width)).unsqueeze(0)
    return encoding.rotate(x, encoding.prepare(Positions(grid if order == "ij" else grid.flip(-1))), "q")


@compare
@given(quarters, heads_of, sides, sides, orders, pairs_of, st.sampled_from([10.0, 100.0, 1e4]))
def test_axial(quarter: int, heads: int, height: int, width: int, order: str, pairs: str, base: float) -> None:
    """A quarter of the head's width of frequencies for each axis; the first axis turns the first pairs."""
    theirs = timm.RotaryEmbeddingCat(
        4 * quarter, in_pixels=False, temperature=base, grid_indexing=order, rotate_half=pairs == "halves"
    )
    x = torch.randn(2, heads, height * width, 4 * quarter)
    want = timm.apply_rot_embed_cat(x, theirs.get_embed([height, width]), half=pairs == "halves")
    ours = rope_2d(4 * quarter, heads, base=base, pairs=pairs)
    assert_close(turned(ours, x, height, width, order), want, atol=5e-6, rtol=1e-5)


@compare
@given(quarters, heads_of, sides, sides, orders)
def test_mixed(quarter: int, heads: int, height: int, width: int, order: str) -> None:
    """Learned directions, copied from each of three layers, and their gradients."""
    theirs = timm.RotaryEmbeddingMixed(4 * quarter * heads, depth=3, num_heads=heads, grid_indexing=order)
    x = torch.randn(2, heads, height * width, 4 * quarter)
    upstream = torch.randn_like(x)
    for layer, embed in enumerate(theirs.get_embed([height, width])):
        ours = rope_2d(4 * quarter, heads, mode="mixed")
        ours.theta.data = theirs.freqs[:, layer].detach().clone()
        found, want = turned(ours, x, height, width, order), timm.apply_rot_embed_cat(x, embed)
        assert_close(found, want, atol=5e-6, rtol=1e-5)
        (to_ours,) = torch.autograd.grad(found, ours.theta, upstream)
        (to_theirs,) = torch.autograd.grad(want, theirs.freqs, upstream, retain_graph=True)
        assert_close(to_ours, to_theirs[:, layer], atol=2e-3, rtol=1e-4)  # sums over hundreds of places, each up to 11


@compare
@given(quarters, heads_of, st.sampled_from([10.0, 100.0]))
def test_mixed_starts_as_theirs(quarter: int, heads: int, base: float) -> None:
    """With every head's own direction turned back, the frequencies of a start without random directions."""
    ours = rope_2d(4 * quarter, heads, mode="mixed", base=base)
    speed = torch.complex(*ours.theta.detach())
    plain = speed / speed[:, :1].sgn()
    want = timm.init_random_2d_freqs(4 * quarter, 1, heads, temperature=base, rotate=False)[:, 0]
    assert_close(torch.stack((plain.real, plain.imag)), want, atol=1e-6, rtol=1e-5)
