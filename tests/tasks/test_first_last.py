import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from ordinate import tasks
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator
from ordinate.statistics.distributions import band
from ordinate.training.baselines import SEQUENCES, baselines


@given(length=st.integers(4, 40), seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_on_bits_it_is_an_even_number_of_changes(length: int, seed: int) -> None:
    batch = tasks.create("first_last", mode="bits").sample(16, length, generator(seed))
    changes = batch.tokens.diff(dim=1).abs().sum(dim=1)
    assert torch.equal(batch.targets, (changes % 2 == 0).long())


@pytest.mark.parametrize("length", [4, 5, 9])
def test_negatives_are_uniform_over_the_other_values(length: int) -> None:
    batch = tasks.create("first_last", vocabulary=6).sample(20_000, length, generator(0))
    apart = (batch.tokens[:, -1] - batch.tokens[:, 0]) % 6
    assert torch.equal(apart == 0, batch.targets == 1)
    assert chisquare(torch.bincount(apart[batch.targets == 0], minlength=6)[1:].numpy()).pvalue > 0.001
    assert batch.targets.float().mean().item() == pytest.approx(0.5, abs=0.012)


@pytest.mark.parametrize("length", [4, 8, 32])
@pytest.mark.parametrize("mode", ["values", "bits"])
def test_counts_say_nothing_even_together_with_one_end(mode: str, length: int) -> None:
    task = tasks.create("first_last", mode=mode)
    low, high = band(0.5, SEQUENCES, level=0.999)
    assert low <= baselines(task, length).bag_of_tokens <= high
    batch = task.sample(20_000, length, generator(1))
    items, equal = batch.tokens, batch.targets == 1
    like = (items[:, :, None] == items[:, None, :]).sum(dim=2).double()  # how often each item's value occurs
    for clue in (like.sum(dim=1), like[:, 0], like[:, -1]):
        gap = clue[equal].mean() - clue[~equal].mean()
        spread = (clue[equal].var() / equal.sum() + clue[~equal].var() / (~equal).sum()).sqrt()
        assert gap.abs() <= 4 * spread


@pytest.mark.parametrize("mode", ["values", "bits"])
def test_it_is_answered_at_the_last_item(mode: str) -> None:
    """No token is added to gather the answer, and none stands for the question."""
    task = tasks.create("first_last", mode=mode)
    batch = task.sample(50, 9, generator(0))
    assert (task.readout, task.width(9), task.vocabulary) == ("last", 9, task.items)
    assert batch.tokens.shape == (50, 9) and batch.targets.shape == (50,)
    assert torch.equal(batch.targets, (batch.tokens[:, 0] == batch.tokens[:, -1]).long())


def test_pairs_give_distances_up_to_the_farthest() -> None:
    task = tasks.create("first_last", mode="pairs", farthest=3)
    assert task.classes == 4
    assert task.solve([0, 1, 0, 2, 2, 2, 1])[1:] == [0, 2, 0, 1, 1, 3]


@pytest.mark.parametrize("length", [5, 16, 60])
def test_chance_of_pairs_is_the_most_frequent_answer(length: int) -> None:
    task = tasks.create("first_last", mode="pairs", vocabulary=5, farthest=6)
    targets = task.sample(5000, length, generator(0)).targets[:, 1:]
    share = torch.bincount(targets.flatten()).max().item() / targets.numel()
    assert task.chance(length) == pytest.approx(share, abs=0.015)


def test_bits_are_two() -> None:
    with pytest.raises(InputError, match="bits has 2 values, got vocabulary=5"):
        tasks.create("first_last", mode="bits", vocabulary=5)
