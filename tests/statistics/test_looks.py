"""Adding seeds until something is settled must not settle it by chance."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.core.errors import InputError
from ordinate.statistics.interval import Interval, interval
from ordinate.statistics.looks import LOOKS, MARGIN, MOST, Looks, no_difference, plan
from ordinate.statistics.pairs import holm, seeds_needed, sign_flip


@pytest.mark.parametrize(("encodings", "sizes"), [(2, (7, 13, 20)), (4, (10, 15, 20)), (6, (11, 15, 20))])
def test_a_plan(encodings: int, sizes: tuple[int, ...]) -> None:
    assert plan(encodings) == Looks(sizes, 0.05 / 3)


@settings(deadline=None)
@given(encodings=st.integers(2, 229), alpha=st.sampled_from([0.05, 0.1, 0.2]))
def test_every_look_of_a_plan_can_give_a_claim(encodings: int, alpha: float) -> None:
    found = plan(encodings, alpha)
    assert 1 <= len(found.sizes) <= LOOKS and found.sizes[-1] == MOST
    assert list(found.sizes) == sorted(set(found.sizes))
    assert found.alpha * len(found.sizes) == pytest.approx(alpha)
    assert found.sizes[0] >= seeds_needed(encodings, found.alpha)


def test_many_encodings_have_fewer_looks() -> None:
    assert [len(plan(encodings).sizes) for encodings in (60, 100, 200)] == [3, 2, 1]


def test_too_many_encodings_are_refused_with_how_many_are_possible() -> None:
    with pytest.raises(InputError, match=r"230 encodings .* at most 229"):
        plan(230)
    with pytest.raises(InputError, match="not even 2"):
        plan(4, alpha=1e-9)
    with pytest.raises(InputError, match="at least 2 encodings"):
        plan(1)


def claims(scores: np.ndarray, alpha: float) -> set[tuple[int, int]]:
    """Pairs of columns that are told apart: corrected p below alpha and the paired interval off zero."""
    pairs = list(combinations(range(scores.shape[1]), 2))
    differences = [scores[:, one] - scores[:, other] for one, other in pairs]
    corrected = holm([sign_flip(difference) for difference in differences])
    return {
        pair
        for pair, p, difference in zip(pairs, corrected, differences, strict=True)
        if p < alpha and interval(difference, level=1 - alpha).off_zero
    }


def settled(scores: np.ndarray, looks: Looks) -> set[tuple[int, int]]:
    """The pairs that are claimed at any look."""
    return set().union(*(claims(scores[:size], looks.alpha) for size in looks.sizes))


def same_accuracies(source: np.random.Generator, encodings: int) -> np.ndarray:
    """Seeds that are easy or hard for all, and a skewed rest."""
    return 0.3 * source.random((MOST, 1)) + 0.7 * source.beta(4, 1, size=(MOST, encodings))


@pytest.mark.parametrize(("encodings", "repeats"), [(4, 700), (6, 300)])
def test_looking_thrice_makes_false_claims_in_less_than_one_of_twenty(encodings: int, repeats: int) -> None:
    source = np.random.default_rng(encodings)
    looks = plan(encodings)
    wrong = sum(bool(settled(same_accuracies(source, encodings), looks)) for _ in range(repeats))
    assert wrong / repeats <= 0.05


def test_without_corrections_the_first_look_alone_would_mislead() -> None:
    """The same data, each pair tested at 0.05 as if it were the only one."""
    source = np.random.default_rng(4)
    wrong = 0
    for _ in range(200):
        scores = same_accuracies(source, 4)[: plan(4).sizes[0]]
        wrong += any(sign_flip(scores[:, one] - scores[:, other]) < 0.05 for one, other in combinations(range(4), 2))
    assert wrong / 200 > 0.12


def test_a_real_difference_is_claimed_and_only_that_one() -> None:
    """One of four encodings is better by 1.5 standard deviations of a difference between two of them."""
    source = np.random.default_rng(0)
    found = false = 0
    for _ in range(60):
        scores = source.normal(0.6, 0.05, size=(MOST, 4))
        scores[:, 0] += 1.5 * 0.05 * np.sqrt(2)
        pairs = settled(scores, plan(4))
        found += {(0, 1), (0, 2), (0, 3)} <= pairs
        false += any(one != 0 for one, _ in pairs)
    assert found / 60 > 0.9
    assert false / 60 <= 0.1


def test_five_seeds_can_never_give_a_claim_about_four_encodings() -> None:
    scores = np.arange(4.0) + 0.001 * np.random.default_rng(0).random((5, 4))  # no overlap at all
    assert claims(scores, 0.05) == set()
    assert claims(np.tile(scores, (2, 1))[:8], 0.05) == set(combinations(range(4), 2))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-0.01, 0.01, True), (0.005, 0.015, True), (-0.02, 0.01, False), (0.0, 0.02, False), (-0.5, -0.3, False)],
)
def test_no_difference_wants_the_whole_interval_inside_the_margin(low: float, high: float, expected: bool) -> None:
    middle = (low + high) / 2
    assert no_difference(Interval(middle, low, high, low, high, 8)) is expected
    assert no_difference(Interval(10 * middle, 10 * low, 10 * high, low, high, 8), margin=10 * MARGIN) is expected


def test_one_seed_settles_nothing() -> None:
    assert not no_difference(interval([0.0]))
    assert no_difference(interval([0.0, 0.0]))


def test_alike_encodings_are_settled_and_noisy_ones_are_not() -> None:
    source = np.random.default_rng(0)
    assert no_difference(interval(source.normal(0, 0.01, MOST)))
    assert not no_difference(interval(source.normal(0, 0.1, MOST)))
