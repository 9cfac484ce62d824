"""Adding seeds until something is settled must not settle it by chance."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.core.errors import InputError
from ordinate.statistics.holm import holm, seeds_needed
from ordinate.statistics.looks import LOOKS, MARGIN, MOST, Looks, no_difference, plan
from ordinate.statistics.permutation import least_p, permutations
from ordinate.statistics.tests import Difference, difference, welches


@pytest.mark.parametrize(("pairs", "sizes"), [(1, (5, 12, 20)), (15, (7, 13, 20)), (75, (8, 14, 20))])
def test_a_plan(pairs: int, sizes: tuple[int, ...]) -> None:
    assert plan(pairs) == Looks(sizes, 0.05 / 3)


@settings(deadline=None)
@given(pairs=st.integers(1, 10**9), alpha=st.sampled_from([0.05, 0.1, 0.2]))
def test_every_look_of_a_plan_can_give_a_claim(pairs: int, alpha: float) -> None:
    looks = plan(pairs, alpha)
    assert 1 <= len(looks.sizes) <= LOOKS and looks.sizes[-1] == MOST
    assert list(looks.sizes) == sorted(set(looks.sizes))
    assert looks.alpha * len(looks.sizes) == pytest.approx(alpha)
    assert looks.sizes[0] >= seeds_needed(pairs, looks.alpha)


def test_too_many_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be told apart with 20 seeds"):
        plan(10**10)
    with pytest.raises(InputError, match="at least one pair"):
        plan(0)


def claims(scores: np.ndarray, alpha: float) -> set[tuple[int, int]]:
    """Pairs of columns that are told apart."""
    pairs = list(combinations(range(scores.shape[1]), 2))
    samples = [(scores[:, one], scores[:, other]) for one, other in pairs]
    least = [least_p(len(scores), len(scores))] * len(pairs)
    first, second = holm(permutations(samples), least, alpha), holm(welches(samples), least, alpha)
    return {pair for pair, p, w in zip(pairs, first, second, strict=True) if max(p, w) < alpha}


def settled(scores: np.ndarray, looks: Looks) -> set[tuple[int, int]]:
    """The pairs that are claimed at any look."""
    return set().union(*(claims(scores[:size], looks.alpha) for size in looks.sizes))


def test_looking_thrice_makes_false_claims_in_less_than_one_of_twenty() -> None:
    """Seeds that are easy or hard for all, and a skewed rest."""
    source, looks, wrong = np.random.default_rng(4), Looks((6, 7, 8), 0.05 / 3), 0
    for _ in range(200):
        scores = 0.3 * source.random((8, 1)) + 0.7 * source.beta(4, 1, size=(8, 4))
        wrong += bool(settled(scores, looks))
    assert wrong / 200 <= 0.05


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
