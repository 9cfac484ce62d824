import pytest
import torch

from ordinate import tasks
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator


def test_the_template() -> None:
    task = tasks.create("markers", first=3, rest=4)
    tokens = task.sample(500, 16, generator(0), "train").tokens
    assert (tokens[:, [0, 4, 9]] == torch.tensor([1, 2, 3])).all()
    assert (tokens[:, 10:] == 0).all()
    values = tokens[:, [1, 2, 3, 5, 6, 7, 8]]
    assert (values.diff(dim=1) == values[:, 1:2] - values[:, :1]).all()
    assert values.min() >= 1
    assert {1, 2, 3} <= set(values.flatten().tolist())  # ids of markers are values elsewhere


def test_every_progression_that_fits_is_drawn() -> None:
    task = tasks.create("markers", vocabulary=8, first=2, rest=1)
    train, held = (
        {tuple(row) for row in task.sample(2000, 6, generator(0), split).tokens[:, [1, 2, 4]].tolist()}
        for split in ("train", "id")
    )
    assert not train & held  # nothing that is tested has been trained on
    assert train | held == {(a, a + d, a + 2 * d) for a in range(1, 8) for d in range(1, 8) if a + 2 * d < 8}


def test_groups_part_the_targets() -> None:
    task = tasks.create("markers")
    batch = task.sample(4, 32, generator(0))
    groups = task.groups(batch.tokens, batch.targets)
    assert next(iter(groups)) == "content"
    assert {name: int(mask[0].sum()) for name, mask in groups.items()} == {
        "content": 14, "marker": 2, "value": 12, "padding": 17,
    }  # fmt: skip
    assert set(batch.targets[groups["marker"]].tolist()) == {2, 3}
    assert set(batch.targets[groups["padding"]].tolist()) == {0}
    assert torch.equal(groups["marker"] | groups["value"], groups["content"])


def test_a_vocabulary_too_small_for_the_terms_is_refused() -> None:
    with pytest.raises(InputError, match="vocabulary above 12 for its 12 terms, got 12"):
        tasks.create("markers", vocabulary=12)
    tasks.create("markers", vocabulary=13)
