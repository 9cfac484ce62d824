"""Welch's and Fisher's tests against scipy, the correction for many tests, and the seeds that a claim needs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinate.core.errors import InputError
from ordinate.statistics.holm import effective_number, holm, pairs_of, seeds_needed
from ordinate.statistics.interval import failure_rate, unseen
from ordinate.statistics.permutation import least_p
from ordinate.statistics.tests import difference, fisher, least_fisher_p, welch, welches

shares = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 9), (6, 6), (40, 5)])
@pytest.mark.parametrize("spread", [1.0, 10.0])
def test_welch_is_scipys(n: int, m: int, spread: float) -> None:
    source = np.random.default_rng(n)
    x, y = source.normal(1.0, size=n), source.normal(0.0, spread, size=m)
    found = stats.ttest_ind(x, y, equal_var=False)
    assert welch(x, y) == welch(y, x) == pytest.approx(found.pvalue, rel=1e-10)
    gap, ends = difference(x, y, 0.98), found.confidence_interval(0.98)
    assert (gap.low, gap.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
    assert gap.mean == pytest.approx(x.mean() - y.mean())


def test_without_spread_welch_has_a_limit() -> None:
    third = [1 / 3] * 6
    assert welch(third, [1 / 3] * 5) == 1.0
    assert welch(third, [0.3] * 6) == 0.0
    assert 0 < welch(third, [0.3, 0.31]) < 1  # one side alone
    assert welches([]) == []
    gap = difference(third, [0.25] * 6, 0.95)
    assert gap.low == gap.high == gap.mean


def test_one_value_has_no_spread() -> None:
    assert welch([1.0], [0.0] * 6) == 1.0
    assert difference([1.0], [0.0] * 6, 0.95).low is None


def test_a_difference_of_accuracies_lies_within_1() -> None:
    gap = difference([1.0, 0.0, 1.0], [0.0, 0.0, 0.1], 0.99, (-1.0, 1.0))
    assert (gap.low, gap.high) == (-1.0, 1.0)


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 12), st.integers(1, 12), st.integers(0, 12), st.integers(1, 12))
def test_fisher_is_scipys(one: int, of_one: int, two: int, of_two: int) -> None:
    one, two = min(one, of_one), min(two, of_two)
    expected = stats.fisher_exact([[one, of_one - one], [two, of_two - two]]).pvalue
    assert fisher(one, of_one, two, of_two) == pytest.approx(expected, rel=1e-9)
    same_margin = [fisher(k, of_one, one + two - k, of_two) for k in range(of_one + 1) if 0 <= one + two - k <= of_two]
    assert least_fisher_p(one + two, of_one, of_two) == min(same_margin)


def test_fisher_by_hand() -> None:
    assert fisher(6, 6, 0, 6) == pytest.approx(2 / 924)
    assert fisher(6, 6, 6, 6) == fisher(0, 6, 0, 6) == least_fisher_p(12, 6, 6) == 1.0
    assert fisher(5000, 5000, 0, 5000) < 1e-300
    with pytest.raises(InputError, match="between 0 and all"):
        fisher(7, 6, 0, 6)


def test_holm_by_hand() -> None:
    """The example of Holm's procedure with four hypotheses: the second p is held up by none, the last by the third."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.2]) == [0.2]


@settings(deadline=None)
@given(p=shares, alpha=st.floats(0.001, 0.5))
def test_holm_rejects_what_its_steps_reject(p: list[float], alpha: float) -> None:
    """Step down: while the smallest p left, times the number left, is below alpha."""
    rejected = 0
    for place, value in enumerate(sorted(p)):
        if (len(p) - place) * value >= alpha:
            break
        rejected += 1
    assert sum(value < alpha for value in holm(p)) == rejected


@settings(deadline=None)
@given(p=shares)
def test_holm_keeps_the_order_and_only_raises(p: list[float]) -> None:
    corrected = holm(p)
    assert all(before <= after <= 1 for before, after in zip(p, corrected, strict=True))
    by_p = [after for _, after in sorted(zip(p, corrected, strict=True))]
    assert by_p == sorted(by_p)


@pytest.mark.parametrize("p", [[0.5, float("nan")], [1.1], [-0.1]])
def test_holm_refuses_what_is_no_p(p: list[float]) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        holm(p)


def tarone(least: list[float], alpha: float) -> int:
    return next(k for k in range(1, len(least) + 2) if sum(value * k < alpha for value in least) <= k)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=12), st.floats(0.001, 0.5))
def test_tests_that_cannot_reach_their_threshold_do_not_count(both: list[tuple[float, float]], alpha: float) -> None:
    """Tarone's procedure step by step: K among those left, everything below alpha / K leaves, and again."""
    least, p = [min(pair) for pair in both], [max(pair) for pair in both]
    assert effective_number(least, alpha) == tarone(least, alpha)
    left, claimed = set(range(len(p))), set[int]()
    while new := {i for i in left if p[i] * tarone([least[i] for i in left], alpha) < alpha}:
        claimed |= new
        left -= new
    assert {i for i, value in enumerate(holm(p, least, alpha)) if value < alpha} == claimed
    assert all(one <= two for one, two in zip(holm(p, least, alpha), holm(p), strict=True))


def test_pairs_without_a_test_worth_counting_leave_room_for_the_others() -> None:
    """23 pairs and six seeds: one claim is possible, whether by scores or by learning, however the others stand."""
    six = least_p(6, 6)
    idle = [least_fisher_p(12, 6, 6)] * 23  # all learned it: nothing for Fisher's test
    assert holm([six, *[1.0] * 22, *idle], [*[six] * 23, *idle])[0] == 23 * six < 0.05
    assert holm([six, *[1.0] * 23], [six] * 24)[0] > 0.05


@pytest.mark.parametrize(
    ("pairs", "seeds"), [(1, 4), (15, 6), (23, 6), (24, 7), (75, 7), (85, 7), (86, 8), (321, 8), (322, 9)]
)
def test_seeds_needed_are_those_of_the_rules(pairs: int, seeds: int) -> None:
    assert seeds_needed(pairs) == seeds
    assert least_p(seeds, seeds) * pairs < 0.05 <= least_p(seeds - 1, seeds - 1) * pairs


def test_pairs_are_counted_over_all_tasks() -> None:
    assert pairs_of([6, 6, 2, 1]) == 15 + 15 + 1


def test_seeds_needed_refuses_what_cannot_be_claimed() -> None:
    with pytest.raises(InputError, match="at least one pair"):
        seeds_needed(0)
    with pytest.raises(InputError, match="alpha"):
        seeds_needed(2, alpha=0.0)


def test_what_few_seeds_cannot_see() -> None:
    assert [round(unseen(n), 2) for n in (6, 10, 20)] == [0.39, 0.26, 0.14]
    assert (1 - unseen(6)) ** 6 == pytest.approx(0.05)


@pytest.mark.parametrize(("failed", "of"), [(0, 6), (1, 6), (3, 6), (6, 6), (9, 12), (1, 200)])
def test_the_rate_of_failures_is_scipys(failed: int, of: int) -> None:
    exact = stats.binomtest(failed, of).proportion_ci(method="exact")
    assert failure_rate(failed, of) == pytest.approx((exact.low, exact.high), abs=1e-9)
    with pytest.raises(InputError, match="7 of 6"):
        failure_rate(7, 6)
