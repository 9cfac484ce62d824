import pytest
import torch
from scipy.stats import chisquare

from ordinate import tasks
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator

ABCBDB = [0, 1, 2, 1, 3, 1]


def test_the_document_s_example() -> None:
    assert tasks.create("k_back", k=2, mode="match").solve(ABCBDB)[2:] == [0, 1, 0, 1]
    assert tasks.create("k_back", k=2, mode="recall").solve(ABCBDB)[2:] == [0, 1, 2, 1]


@pytest.mark.parametrize("k", [1, 3, 8])
def test_half_match_and_the_others_are_uniform(k: int) -> None:
    task = tasks.create("k_back", k=k, mode="match", vocabulary=7)
    batch = task.sample(2000, 40, generator(k, "match"))
    scored = batch.targets[:, k:]
    change = (batch.tokens[:, k:] - batch.tokens[:, :-k]) % 7
    assert torch.equal(change == 0, scored == 1)
    assert scored.float().mean().item() == pytest.approx(0.5, abs=0.01)
    assert chisquare(torch.bincount(change[scored == 0], minlength=7)[1:].numpy()).pvalue > 0.001
    assert chisquare(torch.bincount(batch.tokens.flatten(), minlength=7).numpy()).pvalue > 0.001


def test_a_drawn_k_is_told_by_the_first_token() -> None:
    task = tasks.create("k_back", k=(1, 3, 8))
    assert (task.vocabulary, task.classes, task.width(32)) == (19, 16, 33)
    batch = task.sample(300, 32, generator(0))
    assert set(batch.tokens[:, 0].tolist()) == {16, 17, 18}
    for k, prefix in ((1, 16), (3, 17), (8, 18)):
        rows = batch.tokens[:, 0] == prefix
        assert torch.equal(batch.targets[rows, 1 + k :], batch.tokens[rows, 1:-k])
        assert (batch.targets[rows, : 1 + k] == -100).all()


def test_a_list_without_meaning_is_refused() -> None:
    for k in ((), (3, 3)):
        with pytest.raises(InputError, match="one k or several different ones"):
            tasks.create("k_back", k=k)
