"""LookHere by angles, one pair at a time; the fields of view as the paper's pictures show them."""

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ordinate import InputError
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings import create

compare = settings(deadline=None, derandomize=True, max_examples=15)
# The middle of each head's field, in degrees clockwise from up, in the order of heads.
MIDDLES = {180: (90, 180, 270, 0), 90: (45, 135, 225, 315), 45: tuple(22.5 + 45 * n for n in range(8))}


def grid(rows: int, columns: int) -> Positions:
    return Positions(torch.cartesian_prod(torch.arange(rows), torch.arange(columns))[None])


@compare
@given(
    st.integers(1, 24), st.sampled_from([180, 90, 45]), st.integers(1, 6), st.integers(1, 6), st.booleans(),
    st.sampled_from([None, 0, 1, 100]), st.floats(0.1, 2),
)  # fmt: skip
def test_every_pair(
    heads: int, view: int, rows: int, columns: int, causal: bool, everywhere: int | None, slope: float
) -> None:
    middles = MIDDLES[view]
    free = heads - len(middles) * max(1, round(2 * heads / 3 / len(middles))) if everywhere is None else everywhere
    free = min(free, heads)
    if free < 0 or 0 < heads - free < len(middles):
        assume(False)
    ours = create(
        "lookhere", dim=4 * heads, heads=heads, length=16, axes=2, causal=causal, view=view, slope=slope,
        everywhere=everywhere if everywhere is None else free,
    )  # fmt: skip
    positions = grid(rows, columns)
    bias = ours.bias(AttentionContext.self_attention(positions, causal=causal))[0]
    for head in range(heads):
        directed = head < heads - free
        steep = 0.5 ** (1 + head // len(middles))
        number = head - (heads - free)
        m = slope * (steep if directed else 0.25 ** (1 + (number if free < 4 else 4 * number // free)))
        for query, (y, x) in enumerate(positions.values[0].tolist()):
            for key, (v, u) in enumerate(positions.values[0].tolist()):
                angle = math.degrees(math.atan2(u - x, y - v))  # clockwise from up; rows count downwards
                off = abs((angle - middles[head % len(middles)] + 180) % 360 - 180)
                found = bias[head, query, key].item()
                if directed and (y, x) != (v, u) and off > view / 2 + 1e-6:
                    assert found == -math.inf
                else:
                    assert found == pytest.approx(-m * math.hypot(y - v, x - u), rel=1e-5)


def test_the_slopes_of_the_papers_twelve_heads() -> None:
    """Eight heads with a direction, four without."""
    sizes = dict(dim=48, heads=12, length=16, axes=2)
    everywhere = [0.25, 0.0625, 0.015625, 0.00390625]
    assert create("lookhere", **sizes).slopes == [0.5] * 4 + [0.25] * 4 + everywhere
    assert create("lookhere", **sizes, view=45).slopes == [0.5] * 8 + everywhere


@pytest.mark.parametrize(("view", "least"), [(180, 4), (90, 4), (45, 8)])
def test_every_direction_has_a_head(view: int, least: int) -> None:
    """As many heads in each, with the defaults; fewer heads than directions are refused."""
    for heads in range(1, 25):
        sizes = dict(dim=heads, heads=heads, length=16, axes=2, view=view)
        if heads < least:
            with pytest.raises(InputError, match=f"a head for each of its {least} directions, but has {heads}:"):
                create("lookhere", **sizes)
        else:
            sides = create("lookhere", **sizes).sides
            assert {sides.count(side) for side in sides} == {len(sides) // least} and len(set(sides)) == least


def test_no_more_heads_than_there_are_and_no_direction_left_out() -> None:
    sizes = dict(dim=16, heads=4, length=16, axes=2)
    with pytest.raises(InputError, match="at most 4"):
        create("lookhere", **sizes, everywhere=5)
    with pytest.raises(InputError, match="but has 3: use more heads, or fewer of them everywhere"):
        create("lookhere", **sizes, everywhere=1)
    assert create("lookhere", **sizes, everywhere=4).sides == []


@pytest.mark.parametrize("view", [180, 90, 45])
def test_a_shift_by_any_distance_changes_no_field_of_view(view: int) -> None:
    """Cells on the edge of a field are seen, also where rounding puts them beside it; others stay where they are."""
    ours, cells = create("lookhere", dim=48, heads=12, length=8, axes=2, view=view), grid(8, 8).values
    expected = ours.bias(AttentionContext.self_attention(Positions(cells))).isinf()
    for shift in (0.37, 1000.1, -3.3):
        moved = AttentionContext.self_attention(Positions(cells + shift))
        assert torch.equal(ours.bias(moved).isinf(), expected)
    beside = AttentionContext.self_attention(Positions(torch.tensor([[[0.0, 0.0], [2.0, 2.01], [2.01, 2.0]]])))
    assert ours.bias(beside).isinf()[0, : len(ours.sides), 0, 1:].any()
