"""Welch's and Fisher's tests against scipy, probabilities of improvement, the correction for many tests, judging."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import log_gamma, quantile
from ordinate.statistics.holm import FEWEST_SEEDS, LARGE_EFFECT, effective_number, holm, score_tests, seeds_needed
from ordinate.statistics.improvement import Improvement, improvement, improvements
from ordinate.statistics.interval import rate_interval, unseen
from ordinate.statistics.pairs import Endpoint, judge
from ordinate.statistics.tests import BOTH_SCALES, Moments, Welch, difference, fisher, least_fisher_p, welch
from ordinate.statistics.types import Basis, Contrast, Outcome

shares = st.lists(st.floats(0, 1), max_size=12)
counted_scores = st.integers(0, 200).map(lambda right: right / 200)
some_scores = st.lists(counted_scores, min_size=1, max_size=9)


def log_errors(scores: np.ndarray, sequences: int) -> np.ndarray:
    """Minus the log error rates, with half an error added."""
    return -np.log((sequences * (1 - scores) + 0.5) / (sequences + 0.5))


def judged(
    values: dict[str, list[float]], basis: Basis = Basis.SCORES, alpha: float = 0.05, **more: object
) -> dict[tuple[str, str], Contrast]:
    """All pairs of one endpoint, by their names in alphabetical order."""
    endpoint = Endpoint("task", basis, {name: tuple(own) for name, own in values.items()}, **more)  # type: ignore[arg-type]
    found = [pair for _, pair in judge([endpoint], alpha)]
    return {(min(pair.better, pair.worse), max(pair.better, pair.worse)): pair for pair in found}


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


def test_the_logarithm_of_gamma_is_scipys() -> None:
    """From tiny to huge values, and on both sides of 8, where the series begins."""
    values = np.concatenate([10 ** np.random.default_rng(0).uniform(-6, 14, 2000), np.arange(1, 40) / 2])
    expected = special.gammaln(values)
    assert log_gamma(values) == pytest.approx(expected, rel=1e-13, abs=1e-13) and len(log_gamma(values[:0])) == 0


def test_without_spread_welch_has_a_limit() -> None:
    third = [1 / 3] * 6
    assert welch(third, [1 / 3] * 5) == 1.0
    assert welch(third, [0.3] * 6) == 0.0
    assert 0 < welch(third, [0.3, 0.31]) < 1  # one side alone
    gap = difference(third, [0.25] * 6, 0.95)
    assert gap.low == gap.high == gap.mean


@pytest.mark.parametrize(("n", "m"), [(5, 5), (6, 6), (7, 19)])
@pytest.mark.parametrize("sequences", [100, 1000])
def test_scores_are_tested_by_welch_on_log_error_rates(n: int, m: int, sequences: int) -> None:
    source = np.random.default_rng(n + m)
    x, y = source.beta(8, 2, size=n), source.beta(5, 5, size=m)
    expected = stats.ttest_ind(log_errors(x, sequences), log_errors(y, sequences), equal_var=False)
    found = Welch.of(Moments.of_log_errors([x, y], sequences), np.array([0]), np.array([1]))
    assert found.p()[0] == pytest.approx(expected.pvalue, rel=1e-9)
    (pair,) = judged({"x": x.tolist(), "y": y.tolist()}, sequences=sequences).values()
    assert pair.p == pytest.approx(expected.pvalue, rel=1e-9) and pair.better == "x"
    ends = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95)  # shown in the unit of scores
    assert (pair.difference.low, pair.difference.high) == pytest.approx((ends.low, ends.high), rel=1e-9)


def test_from_twenty_seeds_on_raw_scores_must_differ_too() -> None:
    source = np.random.default_rng(3)
    x, y = source.beta(30, 1, size=(2, 40))
    for n in (BOTH_SCALES - 1, BOTH_SCALES, 40):
        raw = stats.ttest_ind(x[:n], y[:n], equal_var=False).pvalue
        logs = stats.ttest_ind(log_errors(x[:n], 1000), log_errors(y[:n], 1000), equal_var=False).pvalue
        (pair,) = judged({"x": x[:n].tolist(), "y": y[:n].tolist()}, sequences=1000).values()
        agree = (x[:n].mean() > y[:n].mean()) == (log_errors(x[:n], 1000).mean() > log_errors(y[:n], 1000).mean())
        expected = (logs if n < BOTH_SCALES else max(raw, logs)) if agree else 1.0
        assert pair.p == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("lowest", "seeds", "either"), [(0.5, 6, True), (0.4, 6, False), (0.5, 5, False)])
def test_seeds_that_are_far_apart_may_differ_on_either_scale(lowest: float, seeds: int, either: bool) -> None:
    """Some at 1.000 and some not vary too much on a log scale, however far all of them are above the others."""
    x, y = np.array(([1.0, 1.0, lowest] * 2)[:seeds]), np.array([0.22, 0.24, 0.27, 0.29, 0.31, 0.33][:seeds])
    raw = stats.ttest_ind(x, y, equal_var=False).pvalue
    logs = stats.ttest_ind(log_errors(x, 1000), log_errors(y, 1000), equal_var=False).pvalue
    (pair,) = judged({"x": x.tolist(), "y": y.tolist()}, sequences=1000).values()
    assert raw < logs and pair.p == pytest.approx(raw if either else logs, rel=1e-9)


def test_scores_without_any_spread_are_no_certain_difference() -> None:
    """On ten sequences 0.9 and 0.7 are two errors apart."""
    (few,), (many,) = (judged({"a": [0.9] * 6, "b": [0.7] * 6}, sequences=n).values() for n in (2, 1000))
    assert 0 < many.p < few.p and not few.claim and many.claim


def test_losses_are_tested_as_they_are() -> None:
    source = np.random.default_rng(0)
    x, y = source.normal(2.0, 0.1, 6), source.normal(2.5, 0.3, 7)
    (pair,) = judged({"x": x.tolist(), "y": y.tolist()}, lower=True, bounded=False).values()
    assert pair.p == pytest.approx(stats.ttest_ind(x, y, equal_var=False).pvalue, rel=1e-9)
    assert pair.better == "x" and pair.difference.mean < 0


def test_perfect_seeds_are_not_known_to_be_equal() -> None:
    """The standard error is at least that of counting errors on so many sequences."""
    ones, below = [1.0] * 6, [0.999] * 6
    moments = Moments.of_log_errors([ones, below], 1000)
    assert moments.error == pytest.approx([1 / 0.5 / 6, 0.999 / 1.5 / 6])
    (few,), (many,) = (judged({"a": ones, "b": below}, sequences=n).values() for n in (1000, 1_000_000))
    assert few.outcome is Outcome.OPEN and many.claim


@settings(deadline=None, max_examples=40)
@given(st.lists(counted_scores, min_size=5, max_size=8), st.lists(counted_scores, min_size=5, max_size=8))
def test_a_claim_needs_both_means_a_small_p_and_improvement(one: list[float], two: list[float]) -> None:
    (pair,) = judged({"a": one, "b": two}, sequences=200).values()
    assert pair.improvement is not None
    if pair.claim:
        x, y = (np.array(own) for own in ((one, two) if pair.better == "a" else (two, one)))
        assert x.mean() > y.mean() and log_errors(x, 200).mean() > log_errors(y, 200).mean()
        assert pair.corrected < 0.05 and pair.improvement.low > 0.5
    for values in ({"b": two, "a": one}, {"a": one[::-1], "b": two[::-1]}):  # whatever their order
        other = judged(values, sequences=200)["a", "b"]
        assert other.p == pytest.approx(pair.p, rel=1e-9) and other.outcome is pair.outcome


def test_means_that_disagree_are_no_claim() -> None:
    """b is better in the log of its errors, as it has perfect seeds, and worse in the mean, by one that fails."""
    perfect = {"a": [0.97] * 6, "b": [1.0] * 5 + [0.7]}
    (pair,) = judged(perfect, sequences=1000).values()
    assert pair.better == "a" and pair.p == 1.0 and not pair.claim


def test_a_small_p_without_improvement_is_no_claim() -> None:
    """Ten seeds against one in a wide cloud: the mean is lower for sure, a seed drawn at random hardly."""
    tied = {"a": [0.9] * 5 + [0.6] * 5, "b": [0.6] * 8 + [0.9] * 2}
    (pair,) = judged(tied, alpha=0.5).values()
    assert pair.corrected < 0.5 and pair.improvement is not None and pair.improvement.low < 0.5
    assert not pair.claim


@pytest.mark.parametrize("seeds", [1, 2, FEWEST_SEEDS - 1, FEWEST_SEEDS])
@pytest.mark.parametrize("basis", [Basis.SCORES, Basis.AREA])
def test_too_few_seeds_are_in_no_claim_and_take_no_risk_from_others(seeds: int, basis: Basis) -> None:
    """However far they are apart."""
    values = {"a": [0.9, 0.91, 0.92, 0.9, 0.91, 0.93], "b": [0.5, 0.52, 0.51, 0.5, 0.51, 0.53], "c": [0.1] * seeds}
    found = judged(values, basis)
    enough = seeds >= FEWEST_SEEDS
    assert [found["a", "c"].claim, found["b", "c"].claim] == [enough, enough]
    assert (found["a", "c"].outcome is Outcome.FEW_SEEDS) is not enough
    alone = judged({name: values[name] for name in "ab"}, basis)["a", "b"]
    assert found["a", "b"].claim and (found["a", "b"].corrected == alone.corrected) is not enough


def test_learning_is_tested_by_fisher_and_has_no_improvement() -> None:
    flags = {"a": [1.0] * 6, "b": [1.0] + [0.0] * 5, "c": [1.0] * 6}
    found = judged(flags, Basis.LEARNING)
    assert found["a", "b"].p == fisher(6, 6, 1, 6) and found["a", "b"].improvement is None
    assert found["a", "b"].claim and found["a", "c"].outcome is Outcome.SAME


def test_endpoints_of_all_tasks_are_one_family() -> None:
    source = np.random.default_rng(1)
    values = {name: tuple(source.normal(0.5, 0.1, 6).clip(0, 1).tolist()) for name in "abc"}
    family = [Endpoint(task, basis, values) for task in "xy" for basis in (Basis.SCORES, Basis.AREA)]
    found = [(task, pair) for task, pair in judge(family, 0.05)]
    assert [task for task, _ in found] == ["x"] * 6 + ["y"] * 6 and {pair.basis for _, pair in found[:3]} == {"scores"}
    assert [pair.corrected for _, pair in found] == pytest.approx(holm([pair.p for _, pair in found]))


@settings(deadline=None)
@given(better=some_scores, worse=some_scores)
def test_the_probability_of_improvement_is_that_of_all_pairs_of_seeds(better: list[float], worse: list[float]) -> None:
    found = improvement(better, worse)
    wins = [1.0 if x > y else 0.5 if x == y else 0.0 for x, y in product(better, worse)]
    assert found.probability == sum(wins) / len(wins)
    u = stats.mannwhitneyu(better, worse).statistic / len(wins)
    assert found.probability == pytest.approx(u)
    assert improvements(better, [worse, better]) == [found, improvement(better, better)]


@settings(deadline=None)
@given(better=some_scores, worse=some_scores)
def test_its_interval_contains_it_and_swaps_with_the_sides(better: list[float], worse: list[float]) -> None:
    found, other = improvement(better, worse), improvement(worse, better)
    assert 0 <= found.low <= found.probability <= found.high <= 1 and found.low < found.high
    assert other == pytest.approx((1 - found.probability, 1 - found.high, 1 - found.low), abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(better=some_scores, worse=some_scores, data=st.data())
def test_a_better_seed_never_lowers_it(better: list[float], worse: list[float], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(better) - 1))
    raised = [*better[:at], data.draw(st.floats(better[at], 1)), *better[at + 1 :]]
    one, two = improvement(better, worse), improvement(raised, worse)
    assert all(low <= high + 1e-9 for low, high in zip(one, two, strict=True))


def test_newcombes_interval_by_hand() -> None:
    """Method 5: the ends are as far from what was seen as the variance that they imply allows."""
    z = stats.norm.ppf(0.975)
    for better, worse in (([1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]), ([3, 4, 5], [1, 2, 3, 9]), ([1] * 6, [0] * 6)):
        found = improvement(better, worse)
        n, m = len(better), len(worse)
        for end in (found.low, found.high):
            if 0 < end < 1:
                spread = 1 + ((n + m) / 2 - 1) * ((1 - end) / (2 - end) + end / (1 + end))
                assert abs(found.probability - end) == pytest.approx(z * math.sqrt(end * (1 - end) * spread / n / m))
    assert improvement([1], [0]).high == improvement([1] * 9, [0] * 9).high == 1.0
    assert improvement([1] * 9, [0] * 9).low > improvement([1] * 6, [0] * 6).low > 0.5 > improvement([1], [0]).low
    assert improvement([1.0] * 6, [1.0] * 6).probability == 0.5 and isinstance(found, Improvement)


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
    """Six seeds that all learned the task leave nothing for Fisher's test, so scores share the whole risk."""
    idle = [least_fisher_p(12, 6, 6)] * 15
    assert idle == [1.0] * 15
    assert holm([0.003, *[1.0] * 29], [*[0.0] * 15, *idle]) == pytest.approx([15 * 0.003, *[1.0] * 29])


@pytest.mark.parametrize(("tests", "seeds"), [(1, 5), (15, 5), (30, 5), (100, 6), (1000, 8)])
def test_seeds_needed_detect_a_large_effect(tests: int, seeds: int) -> None:
    """Three standard deviations, by a t test at the strictest threshold of Holm's procedure."""

    def detected(n: int) -> bool:
        return LARGE_EFFECT * math.sqrt(n / 2) >= stats.t.ppf(1 - 0.05 / tests / 2, 2 * n - 2)

    assert seeds_needed(tests) == seeds
    assert detected(seeds) and (seeds == FEWEST_SEEDS or not detected(seeds - 1))
    assert quantile(0.9, 8) == pytest.approx(stats.t.ppf(0.9, 8))


def test_tests_are_counted_over_all_tasks() -> None:
    assert score_tests([6, 6, 2, 1], 1) == 15 + 15 + 1
    assert score_tests([6], 2) == 30 and score_tests([1], 2) == score_tests([], 2) == 0


def test_seeds_needed_refuses_what_cannot_be_claimed() -> None:
    with pytest.raises(InputError, match="at least one pair"):
        seeds_needed(0)
    with pytest.raises(InputError, match="alpha"):
        seeds_needed(2, alpha=0.0)


def test_what_few_seeds_cannot_see() -> None:
    assert [round(unseen(n), 2) for n in (6, 10, 20)] == [0.39, 0.26, 0.14]
    assert (1 - unseen(6)) ** 6 == pytest.approx(0.05)


@pytest.mark.parametrize(("failed", "of"), [(0, 6), (1, 6), (3, 6), (6, 6), (9, 12), (1, 200)])
def test_the_interval_of_a_rate_is_scipys(failed: int, of: int) -> None:
    exact = stats.binomtest(failed, of).proportion_ci(method="exact")
    assert rate_interval(failed, of) == pytest.approx((exact.low, exact.high), abs=1e-9)
    with pytest.raises(InputError, match="7 of 6"):
        rate_interval(7, 6)
