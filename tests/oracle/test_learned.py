"""Learned positions against torch's own embedding and interpolation."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import embedding, interpolate
from torch.testing import assert_close

from ordinate.core.encoding import Encoding
from ordinate.core.positions import Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
sizes = st.integers(2, 40)


def added(encoding: Encoding, positions: torch.Tensor, dim: int) -> torch.Tensor:
    """What the encoding adds to embeddings of zeros, relabeling first as a model does."""
    token_positions = Positions(encoding.relabel(positions.unsqueeze(-1)))
    return encoding.embed(torch.zeros(*positions.shape, dim), token_positions)


@compare
@given(sizes, sizes, st.integers(1, 5))
def test_lookup(rows: int, dim: int, batch: int) -> None:
    """Each sequence of a batch at positions of its own."""
    encoding = create("learned", dim=dim, heads=1, length=rows)
    table = torch.nn.Embedding.from_pretrained(encoding.table.detach())
    positions = torch.randint(rows, (batch, 30))
    assert torch.equal(added(encoding, positions, dim), table(positions))


@compare
@given(sizes, sizes, st.integers(1, 200))
def test_clipped(rows: int, dim: int, length: int) -> None:
    """Past the last row, the last row."""
    encoding = create("learned", dim=dim, heads=1, length=rows, beyond="clip")
    positions = torch.arange(length).unsqueeze(0)
    assert torch.equal(added(encoding, positions, dim), embedding(positions.clamp(max=rows - 1), encoding.table))


@compare
@given(sizes, sizes, st.integers(1, 200))
def test_interpolated(rows: int, dim: int, more: int) -> None:
    """The table stretched over a longer sequence, ends on ends."""
    encoding = create("learned", dim=dim, heads=1, length=rows, beyond="interpolate", token_size=1.0)
    positions = torch.arange(rows + more).unsqueeze(0)
    theirs = interpolate(encoding.table.t().unsqueeze(0), size=rows + more, mode="linear", align_corners=True)
    # a place in the table is known to rows * 2^-23, neighboring rows differ by a few units
    assert_close(added(encoding, positions, dim), theirs.transpose(1, 2), atol=rows * 2.0**-20, rtol=0)


@compare
@given(sizes, sizes)
def test_interpolation_leaves_the_trained_range_alone(rows: int, length: int) -> None:
    """Nothing is stretched up to the number of rows."""
    plain, stretched = (create("learned", dim=8, heads=1, length=rows, beyond=b) for b in ("refuse", "interpolate"))
    positions = torch.arange(min(length, rows)).unsqueeze(0)
    assert torch.equal(added(stretched, positions, 8), added(plain, positions, 8))
