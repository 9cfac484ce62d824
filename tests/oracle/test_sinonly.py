"""Sines without cosines: the closed form, and what they lose."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)


def added(name: str, dim: int, positions: Tensor, **parameters: object) -> Tensor:
    """What the encoding adds to embeddings of zeros."""
    token_positions = Positions(positions.view(1, -1, 1))
    return create(name, dim=dim, heads=1, length=8, **parameters).embed(
        torch.zeros(1, token_positions.length, dim), token_positions
    )[0]


@compare
@given(st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=20), st.integers(1, 40), st.floats(10, 1e6))
def test_closed_form(positions: list[float], dim: int, base: float) -> None:
    """Any real position, any width, any base; up to the rounding of an angle of 1,000 radians in float32."""
    at = torch.tensor(positions)
    truth = (at.double()[:, None] * base ** -(torch.arange(dim, dtype=torch.float64) / dim)).sin()
    assert_close(added("sinonly", dim, at, base=base).double(), truth, atol=1000 * 2.0**-21, rtol=0)


def misfit(name: str, shift: int) -> float:
    """How far the best linear map from PE(p) to PE(p + shift) is off, in the size of PE."""
    here, there = (added(name, 8, torch.arange(400) + step).double() for step in (0, shift))
    best = torch.linalg.lstsq(here, there).solution
    return ((here @ best - there).norm() / there.norm()).item()


@compare
@given(st.integers(1, 30))
def test_a_shift_is_a_linear_map_with_cosines_alone(shift: int) -> None:
    """Four angles that no linear map of their sines can turn."""
    assert misfit("sinusoidal", shift) < 1e-4
    assert misfit("sinonly", shift) > 0.1
