import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate import tasks
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator

step = st.integers(-3, 3)


@given(down=step, right=step, more=st.integers(0, 4), seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_the_answer_stands_at_the_offset(down: int, right: int, more: int, seed: int) -> None:
    if down == right == 0:
        return
    side = max(abs(down), abs(right)) + 1 + more
    batch = tasks.create("image_pattern", down=down, right=right).sample(16, side, generator(seed))
    grid, targets = batch.tokens.view(16, side, side), batch.targets.view(16, side, side)
    assert ((grid == 16).flatten(1).sum(dim=1) == 1).all()
    assert torch.equal(grid == 16, targets >= 0)
    picture, row, column = (grid == 16).nonzero(as_tuple=True)
    assert torch.equal(targets[picture, row, column], grid[picture, row + down, column + right])
    assert batch.positions is not None
    assert torch.equal(batch.positions.view(side, side, 2)[1, 0], torch.tensor([1, 0]))


def test_every_cell_that_has_such_a_neighbor_is_marked_at_times() -> None:
    batch = tasks.create("image_pattern").sample(2000, 4, generator(0))
    marked = (batch.tokens == 16).int().argmax(dim=1)
    assert set(marked.tolist()) == {4 * row + column for row in range(3) for column in range(2)}


def test_the_marked_cell_itself_cannot_be_asked_for() -> None:
    with pytest.raises(InputError, match="marked cell itself"):
        tasks.create("image_pattern", down=0, right=0)
