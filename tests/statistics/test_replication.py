"""Published values and orders against measured ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ordinate import InputError
from ordinate.statistics.interaction import interaction
from ordinate.statistics.replication import Agreement, Order, agreement, expected, order, pair_orders, rank_sum

VALUES = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=6)


@given(VALUES, VALUES)
def test_the_rank_sum_is_that_of_all_permutations(one: list[float], two: list[float]) -> None:
    ranks = stats.rankdata([*one, *two])

    def distance(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.abs(x.sum(axis=axis) - len(one) * (len(ranks) + 1) / 2)

    test = stats.permutation_test(
        (ranks[: len(one)], ranks[len(one) :]), distance, vectorized=True, alternative="greater", n_resamples=np.inf
    )
    assert rank_sum(one, two) == pytest.approx(test.pvalue, abs=1e-12)


def test_six_against_six_all_apart_is_significant_and_infinity_is_a_rank() -> None:
    assert rank_sum([1, 2, 3, 4, 5, 6], [math.inf] * 6) == pytest.approx(2 / math.comb(12, 6))


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8))
def test_one_more_seed_is_expected_around_the_mean(values: list[float]) -> None:
    low, high = expected(values) or (0, 0)
    assert low <= np.mean(values) + 1e-9 and high >= np.mean(values) - 1e-9


def test_the_prediction_interval_covers_one_more_value() -> None:
    source = np.random.default_rng(0)
    inside = [
        agreement(row[6], row[:6].tolist(), 0.0) is not Agreement.DIFFERS for row in source.normal(size=(2000, 7))
    ]
    assert 0.93 < np.mean(inside) < 0.98


def test_agreement_needs_two_values_and_grants_a_tolerance() -> None:
    assert agreement(0.5, [0.9], 0.02) is None and agreement(0.5, [], 0.02) is None
    assert agreement(0.99, [1.0, 1.0], 0.02) is Agreement.AGREES
    assert agreement(0.9, [1.0, 1.0], 0.02) is Agreement.DIFFERS
    assert agreement(1.0, [0.493, 0.5, 0.51, 0.5, 0.72, 0.86], 0.02) is Agreement.POSSIBLE, "six of a bimodal task"
    assert agreement(90, [80, 100, math.inf], 10) is Agreement.AGREES
    assert agreement(40, [80, 100, math.inf], 10) is Agreement.DIFFERS


def test_orders() -> None:
    low, high, middle = [0.1 + i / 100 for i in range(6)], [0.9 + i / 100 for i in range(6)], [0.1, 0.9] * 3
    assert order(pair_orders([high], [low])) is Order.HOLDS
    assert order(pair_orders([low], [high])) is Order.REVERSED
    assert order(pair_orders([low], [high], lower=True)) is Order.HOLDS
    assert order(pair_orders([high], [low, high])) is Order.PARTLY
    assert order(pair_orders([middle], [low])) is Order.OPEN
    assert order(pair_orders([high], [()])) is None
    assert order(pair_orders([high], [low, [1.0 + i for i in range(6)]])) is Order.MIXED, "one pair is the other way"
    assert order(pair_orders([high], [low], margin=0.9)) is Order.OPEN, "too close to matter"


def test_a_pair_has_its_difference_in_the_published_direction_and_a_corrected_p() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]
    above, below = pair_orders([high], [low, [math.inf] * 6])
    assert (above.difference, above.sign, below.sign) == (10.0, 1, -1) and below.difference == -math.inf
    assert above.p == pytest.approx(4 / math.comb(12, 6)), "twice, for two pairs"
    (lower,) = pair_orders([low], [high], lower=True)
    assert (lower.difference, lower.sign) == (10.0, 1)


def test_a_rank_sum_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="needs values on both sides, got 0 and 1"):
        rank_sum([], [1.0])


def test_the_interaction_is_the_f_test_of_differences() -> None:
    """With two times, it is the one-way analysis of variance of the differences."""
    source = np.random.default_rng(1)
    groups = [source.normal(size=(6, 2)) + shift for shift in (0.0, [0.0, 1.0], [0.0, 0.5])]
    found = interaction(groups)
    oracle = stats.f_oneway(*(group[:, 1] - group[:, 0] for group in groups))
    assert found.f == pytest.approx(oracle.statistic) and found.p == pytest.approx(oracle.pvalue)


def test_the_level_of_a_run_is_no_interaction() -> None:
    source = np.random.default_rng(2)
    groups = [source.normal(size=(6, 3)) for _ in range(3)]
    moved = [group + source.normal(size=(6, 1)) * 100 for group in groups]
    assert interaction(moved).f == pytest.approx(interaction(groups).f, rel=1e-6)


def test_an_interaction_rarely_appears_by_chance() -> None:
    source = np.random.default_rng(3)
    p = [interaction([source.normal(size=(6, 3)).cumsum(axis=1) for _ in range(3)]).p for _ in range(400)]
    assert np.mean(np.array(p) < 0.05) < 0.08


def test_an_interaction_needs_groups() -> None:
    with pytest.raises(InputError, match="at least two groups of two runs"):
        interaction([np.zeros((6, 3))])
