import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate import tasks
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator
from ordinate.tasks import copy_unique


@given(length=st.integers(1, 30), seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_a_copy_has_one_more_target_than_items(length: int, seed: int) -> None:
    task = tasks.create("copy_unique", vocabulary=30)
    batch = task.sample(8, length, generator(seed))
    scored = batch.targets != -100
    assert (scored.sum(dim=1) == length + 1).all()
    answers = batch.targets[scored].view(8, -1)
    assert torch.equal(answers[:, :-1], batch.tokens[:, 1 : length + 1])
    assert (answers[:, -1] == 32).all()
    assert all(len(set(row)) == length + 1 for row in answers.tolist())


def test_a_list_longer_than_the_vocabulary_is_refused() -> None:
    with pytest.raises(InputError, match=r"copy_unique makes lengths of 1 to 64 \(of 64 different items\), got 65"):
        tasks.create("copy_unique").check_length(65)


def test_chance_is_one_of_all_lists() -> None:
    assert tasks.create("copy_unique", vocabulary=5).chance(2) == pytest.approx(1 / 20)


def test_lists_drawn_in_parts_are_those_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task = tasks.create("copy_unique")
    whole = task.sample(50, 10, generator(0)).tokens
    monkeypatch.setattr(copy_unique, "SHUFFLED", 64 * 7)
    assert torch.equal(task.sample(50, 10, generator(0)).tokens, whole)
