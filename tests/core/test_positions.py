"""Position coverage, packing, padding, and positions from outside."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate import InputError, ModelConfig, Transformer
from ordinate.core.coverage import draw
from ordinate.core.positions import LARGEST_POSITION, AttentionContext, Positions
from ordinate.core.seeds import generator, seed_of
from ordinate.model.packed import count_positions


@given(st.sampled_from(["plain", "offset", "randomized"]), st.integers(1, 20), st.integers(1, 5), st.integers(0, 40))
def test_every_coverage_is_increasing_and_in_range(coverage: str, length: int, rows: int, more: int) -> None:
    limit = length + more
    ids = draw(coverage, sides=(length,), limit=limit, generator=generator(0, "test", length, more), rows=rows)
    assert ids.shape == (rows, length, 1)
    assert (ids >= 0).all() and (ids < limit).all()
    assert (ids.diff(dim=1) > 0).all()
    if coverage == "plain":
        assert (ids[0, :, 0] == torch.arange(length)).all()
    if coverage == "offset":
        assert (ids.diff(dim=1) == 1).all()


def test_offsets_and_randomized_ids_cover_the_range() -> None:
    for coverage in ("offset", "randomized"):
        ids = draw(coverage, sides=(8,), limit=12, generator=generator(0, coverage), rows=500)
        assert set(ids.flatten().tolist()) == set(range(12))


def test_axes_of_a_grid_are_drawn_apart() -> None:
    ids = draw("randomized", sides=(3, 4), limit=50, generator=generator(0, "grid"), rows=2)
    assert ids.shape == (2, 12, 2)
    grid = ids.view(2, 3, 4, 2)
    assert (grid[..., 0] == grid[:, :, :1, 0]).all() and (grid[..., 1] == grid[:, :1, :, 1]).all()
    assert not torch.equal(grid[:, :, 0, 0], grid[:, 0, :3, 1])


def test_coverage_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(InputError, match="need limit >= 9, got 8"):
        draw("offset", sides=(9,), limit=8, generator=generator(0))
    with pytest.raises(InputError, match="did you mean randomized"):
        draw("randomised", sides=(9,), limit=9, generator=generator(0))


def test_named_streams_are_their_own() -> None:
    assert seed_of(0, "data") == seed_of(0, "data")
    assert len({seed_of(s, p) for s in range(20) for p in ("data", "init", "evaluation")}) == 60
    assert seed_of(1, "1/2") != seed_of(1, "1", "3")


def test_positions_count_real_tokens_and_restart_with_documents() -> None:
    real = torch.ones(1, 6, dtype=torch.bool)
    assert count_positions(real, torch.tensor([[7, 7, 7, 2, 2, 7]]))[0, :, 0].tolist() == [0, 1, 2, 0, 1, 0]
    padding_mask = torch.tensor([[False, False, True, True], [True, True, True, True]])
    assert count_positions(padding_mask)[..., 0].tolist() == [[0, 0, 0, 1], [0, 1, 2, 3]]
    assert count_positions(padding_mask, before=torch.tensor([[0], [5]]))[..., 0].tolist() == [
        [0, 0, 0, 1],
        [5, 6, 7, 8],
    ]
    mixed = torch.tensor([[0, 0, 1, 1, 0, 1, 1]]).bool()
    assert count_positions(mixed, torch.tensor([[0, 0, 0, 0, 1, 1, 1]]))[0, :, 0].tolist() == [0, 0, 0, 1, 0, 0, 1]


def test_visibility_is_causal_documents_and_padding_together() -> None:
    positions = Positions(torch.arange(4).view(1, 4, 1), document_ids=torch.tensor([[0, 0, 1, 1]]))
    positions = replace(positions, padding_mask=torch.tensor([[True, False, True, True]]))
    context = AttentionContext(positions, positions, mask_documents=True)
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    assert context.visible is not None
    assert context.visible[0, 0].int().tolist() == expected
    rows = context.query_block(2, 4)
    assert rows.visible is not None
    assert rows.visible[0, 0].int().tolist() == expected[2:]


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        (torch.arange(5), "have shape"),
        (torch.zeros(3, 4, dtype=torch.long), "have shape"),
        (torch.zeros(1, 4, 2, dtype=torch.long), "have 2 axes, but the model reads 1"),
        (torch.arange(4).float(), "t5 reads whole positions"),
        (torch.full((4,), float("nan")), "found NaN or infinity"),
        (torch.ones(4, dtype=torch.bool), "must be numbers, got torch.bool"),
        (torch.tensor([0, 1, -2, 3]), "t5 reads positions from 0 on, found -2"),
        (torch.tensor([0, 1, 2, LARGEST_POSITION]), "below 2\\*\\*24"),
    ],
)
def test_wrong_positions_are_refused_at_the_edge(positions: torch.Tensor, words: str) -> None:
    model = Transformer(ModelConfig(vocabulary=5, encoding="t5", dim=16, heads=2))
    with pytest.raises(InputError, match=words):
        model(torch.zeros(2, 4, dtype=torch.long), positions=positions)
