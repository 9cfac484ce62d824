"""Positions in binary, in decimal and in Gray code: round trips through Python's own digits."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ordinate import InputError
from ordinate.core.positions import LARGEST_POSITION, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=30)
positions_of = st.lists(st.integers(0, LARGEST_POSITION - 1), min_size=1, max_size=20)
BASE = {"binary": 2, "binary_norm": 2, "gray": 2, "decimal": 10, "decimal_norm": 10}


def added(name: str, dim: int, positions: list[int] | Tensor, **parameters: object) -> Tensor:
    """What the encoding adds to embeddings of zeros."""
    token_positions = Positions(torch.as_tensor(positions).view(1, -1, 1))
    encoding = create(name, dim=dim, heads=1, length=min(8, BASE[name] ** dim), **parameters)
    return encoding.embed(torch.zeros(1, token_positions.length, dim), token_positions)[0]


def text(row: Tensor) -> str:
    return " ".join(f"{value:g}" for value in row.tolist())


def test_as_the_definition_writes_them() -> None:
    assert text(added("binary", 8, [7])[0]) == "0 0 0 0 0 1 1 1"
    assert text(added("decimal", 8, [42])[0]) == "0 0 0 0 0 0 4 2"
    assert text(added("binary_norm", 8, [7])[0]) == "-1 -1 -1 -1 -1 1 1 1"
    assert text(added("decimal_norm", 3, [90])[0]) == "-1 1 -1"
    assert [text(row) for row in added("gray", 2, [0, 1, 2, 3])] == ["0 0", "0 1", "1 1", "1 0"]


@compare
@given(positions_of, st.integers(24, 70))
def test_binary_round_trip(positions: list[int], dim: int) -> None:
    for number, row in zip(positions, added("binary", dim, positions), strict=True):
        assert "".join(f"{value:g}" for value in row.tolist()) == f"{number:0{dim}b}"


@compare
@given(positions_of, st.integers(8, 40))
def test_decimal_round_trip(positions: list[int], dim: int) -> None:
    for number, row in zip(positions, added("decimal", dim, positions), strict=True):
        assert "".join(f"{value:g}" for value in row.tolist()) == f"{number:0{dim}d}"


@compare
@given(positions_of, st.integers(24, 40))
def test_normed_forms_are_the_digits_moved_to_both_sides_of_zero(positions: list[int], dim: int) -> None:
    """Padding included."""
    assert torch.equal(added("binary_norm", dim, positions), added("binary", dim, positions) * 2 - 1)
    assert torch.equal(added("decimal_norm", dim, positions), (added("decimal", dim, positions) - 4.5) / 4.5)
    for name in ("binary_norm", "decimal_norm"):
        assert added(name, dim, positions).abs().max() <= 1


@compare
@given(st.integers(0, LARGEST_POSITION - 200))
def test_gray_neighbors_differ_in_one_digit(start: int) -> None:
    code = added("gray", 24, torch.arange(start, start + 200))
    assert torch.equal((code[1:] != code[:-1]).sum(dim=-1), torch.ones(199, dtype=torch.long))


@compare
@given(positions_of)
def test_gray_round_trip(positions: list[int]) -> None:
    """A binary digit is the parity of the Gray digits down to it."""
    decoded = added("gray", 24, positions).cumsum(dim=-1) % 2
    assert torch.equal(decoded, added("binary", 24, positions))


def test_gray_codes_are_those_of_the_mirror() -> None:
    """The second half is the first half backwards, with a one in front."""
    code = added("gray", 10, torch.arange(1024))
    assert torch.equal(code[512:, 1:], code[:512, 1:].flip(0))
    assert code[:512, 0].sum() == 0 and code[512:, 0].sum() == 512


@pytest.mark.parametrize("name", BASE)
@pytest.mark.parametrize("dim", [1, 3, 5])
def test_what_does_not_fit_is_out_of_range(name: str, dim: int) -> None:
    limit = BASE[name] ** dim
    encoding = create(name, dim=dim, heads=1, length=limit)
    assert (encoding.max_positions, encoding.extrapolation) == (limit, "refuses")
    with pytest.raises(
        InputError, match=f"{dim} of them end at {limit - 1}, before the trained length {limit + 1} does"
    ):
        create(name, dim=dim, heads=1, length=limit + 1)
    added(name, dim, [0, limit - 1])
    with pytest.raises(InputError, match=f"position {limit} is out of range: {name} refuses from position {limit} on"):
        added(name, dim, [0, limit])


@pytest.mark.parametrize("name", BASE)
def test_wide_enough_it_takes_every_position(name: str) -> None:
    """And tells all of them apart: no two rows are alike."""
    encoding = create(name, dim=24, heads=1, length=8)
    assert (encoding.max_positions, encoding.extrapolation, encoding.real_positions) == (
        LARGEST_POSITION,
        "computes",
        False,
    )
    assert len(added(name, 24, torch.arange(3000)).unique(dim=0)) == 3000


@pytest.mark.parametrize("name", BASE)
def test_a_size_scales_them_all_alike(name: str) -> None:
    plain = added(name, 24, torch.arange(8), size=None, token_size=0.3)
    for size in (1.0, 0.5):
        matched = added(name, 24, torch.arange(8), size=size, token_size=0.3)
        torch.testing.assert_close(matched, plain * (size * 0.3 / plain.square().mean().sqrt()))
