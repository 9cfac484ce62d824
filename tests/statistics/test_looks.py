"""Adding seeds until something is settled must not settle it by chance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.core.errors import InputError
from ordinate.statistics.holm import FEWEST_SEEDS, seeds_needed
from ordinate.statistics.looks import LOOKS, MARGIN, MOST, Looks, no_difference, plan
from ordinate.statistics.pairs import Endpoint, judge
from ordinate.statistics.tests import Difference, difference
from ordinate.statistics.types import Basis


@pytest.mark.parametrize(("tests", "sizes"), [(1, (5, 12, 20)), (30, (6, 13, 20)), (1000, (9, 14, 20))])
def test_a_plan(tests: int, sizes: tuple[int, ...]) -> None:
    assert plan(tests) == Looks(sizes, 0.05 / 3)


@settings(deadline=None, max_examples=30)
@given(tests=st.integers(1, 10**6), alpha=st.sampled_from([0.05, 0.1, 0.2]))
def test_every_look_of_a_plan_can_give_a_claim(tests: int, alpha: float) -> None:
    looks = plan(tests, alpha)
    assert 1 <= len(looks.sizes) <= LOOKS and looks.sizes[-1] == MOST
    assert list(looks.sizes) == sorted(set(looks.sizes))
    assert looks.alpha * len(looks.sizes) == pytest.approx(alpha)
    assert looks.sizes[0] >= seeds_needed(tests, looks.alpha) >= FEWEST_SEEDS


def test_too_many_tests_are_refused() -> None:
    with pytest.raises(InputError, match="cannot tell encodings apart with 20 seeds"):
        plan(10**20)
    with pytest.raises(InputError, match="at least one pair"):
        plan(0)


def claims(scores: np.ndarray, alpha: float) -> set[tuple[int, int]]:
    """Pairs of columns that are told apart."""
    values = {str(encoding): tuple(own) for encoding, own in enumerate(scores.T.tolist())}
    found = [pair for _, pair in judge([Endpoint("task", Basis.SCORES, values)], alpha) if pair.claim]
    return {(min(pair), max(pair)) for pair in ((int(p.better), int(p.worse)) for p in found)}


def settled(scores: np.ndarray, looks: Looks) -> set[tuple[int, int]]:
    """The pairs that are claimed at any look."""
    return set().union(*(claims(scores[:size], looks.alpha) for size in looks.sizes))


def test_looking_thrice_makes_false_claims_in_less_than_one_of_twenty() -> None:
    """Seeds that are easy or hard for all, and a skewed rest."""
    source, looks, wrong = np.random.default_rng(4), Looks((6, 7, 8), 0.05 / 3), 0
    for _ in range(100):
        scores = 0.3 * source.random((8, 1)) + 0.7 * source.beta(4, 1, size=(8, 4))
        wrong += bool(settled(scores, looks))
    assert wrong / 100 <= 0.05


def test_a_real_difference_is_claimed_and_only_that_one() -> None:
    """One of four encodings is better by two standard deviations."""
    source, true, false = np.random.default_rng(0), 0, 0
    for _ in range(8):
        scores = source.normal(0.6, 0.05, size=(MOST, 4))
        scores[:, 0] += 0.1
        pairs = settled(scores, plan(6))
        true += {(0, 1), (0, 2), (0, 3)} <= pairs
        false += any(one != 0 for one, _ in pairs)
    assert true >= 7 and false <= 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-0.01, 0.01, True), (0.005, 0.015, True), (-0.02, 0.01, False), (0.0, 0.02, False), (-0.5, -0.3, False)],
)
def test_no_difference_wants_the_whole_interval_inside_the_margin(low: float, high: float, expected: bool) -> None:
    middle = (low + high) / 2
    assert no_difference(Difference(middle, low, high), 30) is expected
    assert no_difference(Difference(10 * middle, 10 * low, 10 * high), 30, margin=10 * MARGIN) is expected


def test_no_difference_is_never_said_of_few_seeds_nor_without_any_spread() -> None:
    source = np.random.default_rng(0)
    for seeds, expected in ((6, False), (20, False), (29, False), (30, True)):
        gap = difference(source.normal(0.9, 0.001, seeds), source.normal(0.9, 0.001, seeds), 0.95)
        assert no_difference(gap, seeds) is expected
    assert not no_difference(difference([1.0] * 40, [1.0] * 40, 0.95), 40)
    assert not no_difference(difference([1.0], [1.0], 0.95), 1)
