import math

import pytest
import torch
from scipy.stats import binom

from ordinate import tasks
from ordinate.core.seeds import generator
from ordinate.core.task import Batch, Task
from ordinate.statistics.distributions import band
from ordinate.training.baselines import baselines, floor, score


class BucketSort(Task):
    """Five symbols, sorted: the task whose chance line was published wrong."""

    family = "copying"

    def __init__(self) -> None:
        super().__init__(vocabulary=5, classes=5, form="bidirectional")

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        tokens = torch.randint(5, (count, length), generator=generator)
        return Batch(tokens, tokens.sort(dim=1).values)

    def chance(self, length: int, split: str = "id") -> float:
        return 0.2

    def solve(self, tokens: list[int]) -> list[int]:
        return sorted(tokens)

    def example(self) -> list[int]:
        return [3, 1, 4]


@pytest.mark.parametrize(("length", "published"), [(10, 0.598), (20, 0.694), (41, 0.780), (60, 0.818)])
def test_position_only_on_bucket_sort_is_the_published_line(length: int, published: float) -> None:
    """TASKS.md, row 11."""
    found = baselines(BucketSort(), length)
    assert found.position_only == pytest.approx(published, abs=0.006)
    assert found.majority == pytest.approx(0.2, abs=0.01)
    assert found.floor >= found.position_only


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.0625, 1 / 3, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("sequences", [1, 7, 100, 1000, 20_000])
def test_the_band_is_the_binomial_interval(rate: float, sequences: int) -> None:
    low, high = band(rate, sequences)
    expected = [max(0.0, edge) / sequences for edge in binom.ppf([0.025, 0.975], sequences, rate)]
    assert [low, high] == pytest.approx(expected, abs=1e-12)


def test_a_narrower_band_lies_inside() -> None:
    (low, high), (lower, higher) = band(0.5, 1000, level=0.8), band(0.5, 1000)
    assert lower < low < 0.5 < high < higher


def test_a_bag_of_tokens_counts_only_where_order_matters() -> None:
    counting = baselines(tasks.create("binary_majority"), 32)
    assert counting.bag_of_tokens > 0.99
    assert counting.floor < 0.52
    ordered = baselines(tasks.create("k_back"), 32)
    assert ordered.floor == ordered.bag_of_tokens > 0.15


def test_the_bag_reader_of_recall_does_as_well_as_naming_the_most_frequent() -> None:
    """The most frequent earlier item is the best that a reader of prefix counts can name."""
    task = tasks.create("k_back")
    batch = task.sample(2000, 32, generator(5))
    seen = torch.nn.functional.one_hot(batch.tokens, 16).cumsum(dim=1).float()
    seen.scatter_add_(2, batch.tokens[:, :, None], torch.full((2000, 32, 1), -1.0))  # it never names itself
    assert baselines(task, 32).bag_of_tokens == pytest.approx(score(task, seen, batch), abs=0.015)


def test_losses_are_ordered_by_what_their_readers_know() -> None:
    task = tasks.create("markers")
    found = baselines(task, 32)
    assert found.chance == pytest.approx(math.log(128))
    assert found.majority < found.chance
    assert found.position_only < found.majority
    assert found.floor == min(found.position_only, found.bag_of_tokens)
    assert floor(task, 3.0, 2.0, 1.0, 4.0) == 1.0


def test_exact_wants_all_answers_of_a_sequence() -> None:
    task = tasks.create("copy_unique", vocabulary=8)
    batch = task.sample(10, 3, generator(0))
    logits = torch.nn.functional.one_hot(batch.targets.clamp(min=0), task.classes).float()
    assert score(task, logits, batch) == 1.0
    logits[:4, 5] = logits[:4, 5].roll(1, dims=-1)  # one answer wrong in four of the ten
    assert score(task, logits, batch) == pytest.approx(0.6)
    assert baselines(task, 1).bag_of_tokens == 1.0  # a list of one needs no order


def test_the_same_question_has_the_same_answer() -> None:
    task = tasks.create("shift_pattern")
    assert baselines(task, 16, "shift") == baselines(task, 16, "shift")
    assert baselines(task, 16, "shift") != baselines(task, 16, "shift", seed=1)


@pytest.mark.parametrize("vocabulary", [16, 100, 1000])
def test_the_floor_holds_for_any_vocabulary(vocabulary: int) -> None:
    """The commonest token in sight is right about once in ten at length 32, however many others there could be."""
    task = tasks.create("k_back", vocabulary=vocabulary)
    assert baselines(task, 32).floor > 0.08
