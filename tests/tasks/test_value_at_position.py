import pytest
import torch
from scipy.stats import chisquare

from ordinate import tasks
from ordinate.core.seeds import generator
from ordinate.statistics.distributions import band
from ordinate.training.baselines import SEQUENCES, baselines

STATED = {0: {3: 5, 7: 8}, 1: {5: 3, 10: 9}, 2: {15: 7, 20: 4}}  # class: {position: value}, MISSION.md S1


@pytest.mark.parametrize("length", [21, 32, 64])
def test_balanced_has_every_value_once_and_only_the_class_s_at_their_places(length: int) -> None:
    batch = tasks.create("value_at_position").sample(3000, length, generator(0))
    for name, rule in STATED.items():
        for place, value in rule.items():
            assert ((batch.tokens == value).sum(dim=1) == 1).all()
            assert torch.equal(batch.tokens[:, place] == value, batch.targets == name)


def test_wrong_places_are_all_others() -> None:
    batch = tasks.create("value_at_position").sample(20_000, 32, generator(1))
    at = (batch.tokens == 5).int().argmax(dim=1)[batch.targets == 1]
    assert set(at.tolist()) == set(range(32)) - {3, 5, 10}  # not its own, nor where class 1 has its values
    assert chisquare([n for n in torch.bincount(at).tolist() if n]).pvalue > 0.001


@pytest.mark.parametrize("length", [21, 32])
def test_balanced_labels_are_independent_of_counts(length: int) -> None:
    task = tasks.create("value_at_position")
    low, high = band(1 / 3, SEQUENCES, level=0.999)
    assert low <= baselines(task, length).bag_of_tokens <= high
    batch = task.sample(20_000, length, generator(2))
    counts = torch.nn.functional.one_hot(batch.tokens, 20).sum(dim=1).double()
    clues = torch.cat((counts, counts.square()), dim=1)
    clues = clues[:, clues.var(dim=0) > 0]
    for name in range(3):
        mine = batch.targets == name
        gap = clues[mine].mean(dim=0) - clues[~mine].mean(dim=0)
        spread = (clues[mine].var(dim=0) / mine.sum() + clues[~mine].var(dim=0) / (~mine).sum()).sqrt()
        assert (gap.abs() <= 4.5 * spread).all()


def test_the_stated_form_leaks_through_counts() -> None:
    """As published, a model without positions scores 58 % on it at chance 33 %."""
    task = tasks.create("value_at_position", balanced=False)
    assert baselines(task, 32).floor > 0.55
    batch = task.sample(20_000, 32, generator(3))
    for name, rule in STATED.items():
        holds = torch.stack([batch.tokens[:, place] == value for place, value in rule.items()]).all(dim=0)
        assert torch.equal(holds, batch.targets == name)
