"""Sinusoids against positional-encodings, RoFormer and M2M100 (the tensor2tensor formula)."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from positional_encodings.torch_encodings import PositionalEncoding1D
from torch.testing import assert_close
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding

from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
lengths = st.integers(1, 400)


def added(dim: int, positions: Positions, **parameters: object) -> torch.Tensor:
    """What the encoding adds to embeddings of zeros."""
    encoding = create("sinusoidal", dim=dim, heads=1, length=8, **parameters)
    return encoding.embed(torch.zeros(1, positions.length, dim), positions)[0]


def same(ours: torch.Tensor, theirs: torch.Tensor, farthest: int) -> None:
    """Equal up to the rounding of an angle of `farthest` radians in float32."""
    assert_close(ours, theirs, atol=max(farthest, 1) * 2.0**-22, rtol=0)


@compare
@given(lengths, st.integers(1, 48))
def test_interleaved(length: int, half: int) -> None:
    """The paper's layout; the package rounds odd widths up in the exponent, so widths are even here."""
    theirs = PositionalEncoding1D(2 * half)(torch.zeros(1, length, 2 * half))[0]
    same(added(2 * half, Positions.range(length)), theirs, length)


@compare
@given(lengths, st.integers(2, 97))
def test_halves_at_even_and_odd_widths(length: int, dim: int) -> None:
    """All sines, then all cosines; an odd width has one cosine less."""
    theirs = RoFormerSinusoidalPositionalEmbedding(length, dim).create_weight()
    same(added(dim, Positions.range(length), layout="halves"), theirs, length)


@compare
@given(lengths, st.integers(2, 97))
def test_layouts_are_permutations(length: int, dim: int) -> None:
    """The two layouts hold the same numbers."""
    order = torch.cat((torch.arange(0, dim, 2), torch.arange(1, dim, 2)))
    positions = Positions.range(length)
    assert torch.equal(added(dim, positions)[:, order], added(dim, positions, layout="halves"))


@compare
@given(lengths, st.integers(2, 48))
def test_tensor2tensor_exponent(length: int, half: int) -> None:
    """Exponents that end at exactly 1; defined for even widths from 4 on."""
    theirs = M2M100SinusoidalPositionalEmbedding.get_embedding(length, 2 * half)
    same(added(2 * half, Positions.range(length), layout="halves", exponent="tensor2tensor"), theirs, length)


@compare
@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=20), st.floats(10, 1e6), st.integers(1, 32))
def test_any_positions_and_base(positions: list[int], base: float, half: int) -> None:
    """The formula in double precision, at positions in any order."""
    at = torch.tensor(positions, dtype=torch.float64)[:, None]
    angle = at * base ** -(torch.arange(half, dtype=torch.float64) / half)
    truth = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()
    same(added(2 * half, Positions(torch.tensor(positions).view(1, -1, 1)), base=base), truth, max(positions))


def test_tokens_scaled_and_bfloat16() -> None:
    """The paper's sqrt(D) on tokens; a bfloat16 input is the float32 result, cast last."""
    x = torch.randn(2, 300, 16).bfloat16()
    plain, scaled = (create("sinusoidal", dim=16, heads=1, length=8, scale_tokens=s) for s in (False, True))
    positions = Positions.range(300, start=5000)
    assert torch.equal(plain.embed(x, positions), plain.embed(x.float(), positions).bfloat16())
    assert torch.equal(scaled.embed(x.float(), positions), plain.embed(x.float() * 4, positions))
