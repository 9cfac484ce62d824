"""Slow pairs slowed down: the taper pair by pair, and RoPE where nothing is clipped."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ordinate import InputError
from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
conventions = st.sampled_from(["halves", "interleaved"])
bases = st.sampled_from([500.0, 1e4, 5e5])
lengths = st.sampled_from([4, 64, 1000, 100_000])


def turned(encoding: Encoding, x: Tensor, positions: Tensor) -> Tensor:
    """Queries under this encoding at [b, n] positions."""
    return encoding.rotate(x, encoding.prepare(Positions(positions.unsqueeze(-1))), "q")


@compare
@given(st.integers(1, 40), bases, lengths)
def test_taper(half: int, base: float, length: int) -> None:
    """Every frequency: those that complete a turn as they are, the others under half a period of a raised cosine."""
    ours = create("clipped_rope", dim=2 * half, heads=1, length=length, base=base)
    theta = [base ** (-k / half) for k in range(half)]
    slow = [k for k in range(half) if 2 * math.pi / theta[k] > length]
    for m, k in enumerate(slow):
        theta[k] *= math.cos(math.pi / 2 * m / max(len(slow) - 1, 1)) ** 2
    assert_close(ours.theta(torch.device("cpu")), torch.tensor(theta), atol=1e-7, rtol=2e-5)


@compare
@given(st.integers(1, 20), bases, conventions, st.sampled_from(["hann", "hard"]))
def test_nothing_clipped_is_rope(half: int, base: float, pairs: str, taper: str) -> None:
    """Bit for bit."""
    shape = dict(dim=4 * half, heads=2, length=7, base=base, pairs=pairs)
    x, positions = torch.randn(3, 2, 9, 2 * half), torch.randint(4000, (3, 9))
    ours = create("clipped_rope", **shape, clipped=0, taper=taper)
    assert torch.equal(turned(ours, x, positions), turned(create("rope", **shape), x, positions))


@compare
@given(st.integers(1, 20), st.data(), conventions)
def test_stopping_pairs_is_p_rope(half: int, data: st.DataObject, pairs: str) -> None:
    """The fastest pairs turn, the rest stand still."""
    clipped = data.draw(st.integers(0, half))
    shape = dict(dim=2 * half, heads=1, length=7, pairs=pairs)
    rope = create("rope", **shape, scaling="proportional", fraction=(half - clipped + 0.5) / (half + 0.5))
    x, positions = torch.randn(3, 1, 9, 2 * half), torch.randint(4000, (3, 9))
    ours = create("clipped_rope", **shape, clipped=clipped, taper="hard")
    assert torch.equal(turned(ours, x, positions), turned(rope, x, positions))


def test_more_pairs_than_there_are() -> None:
    """One sentence."""
    with pytest.raises(InputError, match="cannot clip 5 pairs: a head of width 8 has 4"):
        create("clipped_rope", dim=32, heads=4, length=24, clipped=5)
