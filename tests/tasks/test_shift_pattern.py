import itertools

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


def windows(tokens: torch.Tensor, pattern: int) -> torch.Tensor:
    """Whether the window that begins at each token holds the whole pattern, in whatever order."""
    return (tokens.unfold(1, pattern, 1).sort(dim=-1).values == torch.arange(pattern)).all(dim=-1)


@given(
    pattern=st.integers(2, 5),
    extra=st.integers(1, 10),
    more=st.integers(1, 40),
    split=st.sampled_from(["id", "shift"]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_one_window_holds_the_tokens_and_its_order_is_the_label(
    pattern: int, extra: int, more: int, split: str, seed: int
) -> None:
    task = tasks.create("shift_pattern", pattern=pattern, vocabulary=pattern + extra)
    batch = task.sample(32, pattern + more, generator(seed), split)
    found = windows(batch.tokens[:, :-1], pattern)
    assert (found.sum(dim=1) == 1).all()
    start = found.int().argmax(dim=1)
    planted = batch.tokens.gather(1, start[:, None] + torch.arange(pattern))
    assert torch.equal((planted == torch.arange(pattern)).all(dim=1), batch.targets == 1)
    half = (more + 1) // 2
    assert ((start < half) if split == "id" else (start >= half)).all()


def test_shifted_places_are_never_trained_at_any_length() -> None:
    task = tasks.create("shift_pattern")
    lengths = range(task.train_lengths[0], task.train_lengths[1] + 1)
    trained = {
        start
        for length in lengths
        for start in windows(task.sample(300, length, generator(0)).tokens[:, :-1], 3).int().argmax(dim=1).tolist()
    }
    longest = task.sample(2000, 32, generator(1), "shift")
    shifted = set(windows(longest.tokens[:, :-1], 3).int().argmax(dim=1).tolist())
    assert trained == set(range(15))
    assert shifted == set(range(15, 30))


def test_negatives_take_every_other_order_equally_often() -> None:
    task = tasks.create("shift_pattern")
    batch = task.sample(10_000, 32, generator(2))
    start = windows(batch.tokens[:, :-1], 3).int().argmax(dim=1)
    planted = batch.tokens.gather(1, start[:, None] + torch.arange(3))[batch.targets == 0]
    counts = [(planted == torch.tensor(order)).all(dim=1).sum().item() for order in itertools.permutations(range(3))]
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > 0.001


@pytest.mark.parametrize(("length", "split"), [(8, "id"), (32, "id"), (32, "shift")])
def test_labels_are_independent_of_counts_and_places(length: int, split: str) -> None:
    task = tasks.create("shift_pattern")
    low, high = band(0.5, SEQUENCES, level=0.999)
    assert low <= baselines(task, length, split).bag_of_tokens <= high
    batch = task.sample(20_000, length, generator(3), split)
    yes = batch.targets == 1
    counts = torch.nn.functional.one_hot(batch.tokens, task.vocabulary).sum(dim=1).double()
    start = windows(batch.tokens[:, :-1], 3).int().argmax(dim=1, keepdim=True).double()
    clues = torch.cat((counts[:, :-1], counts.square(), start), dim=1)
    clues = clues[:, clues.var(dim=0) > 0]
    gap = clues[yes].mean(dim=0) - clues[~yes].mean(dim=0)
    spread = (clues[yes].var(dim=0) / yes.sum() + clues[~yes].var(dim=0) / (~yes).sum()).sqrt()
    assert (gap.abs() <= 4.5 * spread).all()


@pytest.mark.parametrize("split", ["id", "shift"])
def test_where_asks_once_at_the_pattern_and_once_at_another_order(split: str) -> None:
    task = tasks.create("shift_pattern", mode="where")
    batch = task.sample(2000, 32, generator(4), split)
    assert ((batch.targets == 1).sum(dim=1) == 1).all()
    assert ((batch.targets == 0).sum(dim=1) == 1).all()
    assert (batch.tokens[batch.targets >= 0] == 2).all()  # the token at which it is asked does not tell
    at = batch.targets.argmax(dim=1)
    assert ((at < 17) if split == "id" else (at >= 17)).all()
    found = baselines(task, 32, split)
    low, high = band(0.5, 2 * 10_000, level=0.999)
    assert low <= min(found.position_only, found.bag_of_tokens)
    assert max(found.position_only, found.bag_of_tokens) <= high


def test_the_document_s_example() -> None:
    present, where = (tasks.create("shift_pattern", vocabulary=26, mode=mode) for mode in ("present", "where"))
    xyabcz = [23, 24, 0, 1, 2, 25]
    assert present.solve([*xyabcz, 26]) == [1]
    assert where.solve(xyabcz).index(1) - 2 == 2  # asked at its end, it stands at 2


def test_patterns_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(InputError, match="vocabulary above 4"):
        tasks.create("shift_pattern", pattern=4, vocabulary=4)
    with pytest.raises(InputError, match="no other order for a pattern of 2"):
        tasks.create("shift_pattern", pattern=2, mode="where")
