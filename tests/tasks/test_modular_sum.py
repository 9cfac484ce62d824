import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate import tasks
from ordinate.core.seeds import generator


@given(base=st.integers(2, 20), length=st.integers(2, 60), seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_each_answer_adds_the_number_before_it(base: int, length: int, seed: int) -> None:
    batch = tasks.create("modular_sum", base=base).sample(8, length, generator(seed))
    sums, numbers = batch.targets, batch.tokens
    assert torch.equal(sums[:, 1] % base, numbers[:, 0])
    assert torch.equal((sums[:, 2:] - sums[:, 1:-1]) % base, numbers[:, 1:-1])


def test_the_document_s_example() -> None:
    assert tasks.create("modular_sum").show([3, 1, 4], [0, 3, 4]) == "3 1 4 -> 0 3 4"
    assert tasks.create("modular_sum").solve([3, 1, 4])[1:] == [3, 4]


@pytest.mark.parametrize(
    ("base", "trained", "longer"), [(2, (2, 8), (12, 16)), (5, (2, 8), (12, 16)), (6, (8, 32), (40, 48, 64, 96, 128))]
)
def test_small_bases_are_trained_on_short_sums(base: int, trained: tuple[int, ...], longer: tuple[int, ...]) -> None:
    task = tasks.create("modular_sum", base=base)
    assert task.train_lengths == trained and task.beyond(trained[1]) == longer
    assert task.classes == task.vocabulary == base
