"""Intervals against scipy, and how often they really contain the mean."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import quantile, tails
from ordinate.statistics.interval import bca, interval, intervals, student

Method = Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]
numbers = st.floats(-100, 100).map(lambda number: round(number, 6))


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 18, 19, 100, 201])
@pytest.mark.parametrize("probability", [0.001, 0.3, 0.5, 0.9, 0.975, 0.99167, 0.99999])
def test_student_quantile_is_scipys(probability: float, freedom: int) -> None:
    expected = stats.t.ppf(probability, freedom)
    assert quantile(probability, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_student_quantile_has_closed_forms() -> None:
    assert quantile(0.75, 1) == pytest.approx(1.0)  # Cauchy: tan(π / 4)
    assert quantile(0.9, 2) == pytest.approx(0.8 / np.sqrt(2 * 0.9 * 0.1))


@pytest.mark.parametrize(("probability", "freedom"), [(0.0, 4), (1.0, 4), (0.9, 0)])
def test_student_quantile_refuses_the_impossible(probability: float, freedom: int) -> None:
    with pytest.raises(InputError, match="probability between 0 and 1"):
        quantile(probability, freedom)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 19])
@pytest.mark.parametrize("level", [0.95, 0.98])
def test_few_values_take_students_interval(n: int, level: float) -> None:
    values = np.random.default_rng(n).normal(0.8, 0.1, n)
    found = interval(values, level)
    expected = stats.t.interval(level, n - 1, values.mean(), stats.sem(values))
    assert (found.low, found.high) == pytest.approx(expected)
    assert (found.mean, found.minimum, found.maximum) == pytest.approx((values.mean(), values.min(), values.max()))
    assert found.n == n


@pytest.mark.parametrize("n", [20, 50])
@pytest.mark.parametrize("level", [0.95, 0.98])
def test_many_values_take_the_bootstrap_of_scipy(n: int, level: float) -> None:
    """Two bootstraps of 10,000 draws agree within a few hundredths of the width; the plain one lies elsewhere."""
    values = np.random.default_rng(n).lognormal(sigma=1.2, size=n)
    found = interval(values, level)
    expected, plain = (
        stats.bootstrap(
            (values,), np.mean, confidence_level=level, n_resamples=10_000, method=method, rng=np.random.default_rng(1)
        ).confidence_interval
        for method in ("BCa", "percentile")
    )
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.03 * width)
    assert found.high == pytest.approx(expected.high, abs=0.05 * width)
    assert abs(found.high - plain.high) > 0.06 * width


def test_the_method_changes_at_twenty() -> None:
    values = np.random.default_rng(0).beta(9, 1, 20)
    few, many = interval(values[:19]), interval(values)
    assert (few.low, few.high) == pytest.approx([float(end[0]) for end in student(np.sort(values[:19])[None], 0.95)])
    assert (many.low, many.high) == pytest.approx([float(end[0]) for end in bca(np.sort(values)[None], 0.95)])


def test_one_value_has_no_interval() -> None:
    found = interval([0.7])
    assert (found.mean, found.low, found.high, found.n) == (0.7, None, None, 1)


@pytest.mark.parametrize("n", [2, 5, 19, 20, 40])
@pytest.mark.parametrize("value", [0.0, 0.1, -0.3, 1e-300])
def test_constant_values_have_an_interval_of_width_zero(n: int, value: float) -> None:
    found = interval([value] * n)
    assert found.mean == found.low == found.high == found.minimum == found.maximum == value


@pytest.mark.parametrize("odd_one", [1e-300, 1.0, 1e9])
def test_one_seed_that_differs_does_not_break_the_bootstrap(odd_one: float) -> None:
    found = interval([0.0] * 19 + [odd_one], level=0.999999999)
    assert found.low is not None and found.high is not None
    assert 0 <= found.low <= found.mean <= found.high <= odd_one


@settings(deadline=None, max_examples=50)
@given(values=st.lists(numbers, min_size=2, max_size=30), data=st.data())
def test_order_does_not_matter_and_repeating_gives_the_same(values: list[float], data: st.DataObject) -> None:
    assert interval(values) == interval(data.draw(st.permutations(values))) == interval(np.array(values))


@settings(deadline=None, max_examples=50)
@given(values=st.lists(numbers, min_size=2, max_size=30), shift=st.integers(-50, 50), factor=st.sampled_from([0.25, 8]))
def test_an_interval_moves_with_its_unit(values: list[float], shift: int, factor: float) -> None:
    found, moved = interval(values), interval([factor * value + shift for value in values])
    assert found.low is not None and found.high is not None
    expected = (factor * found.low + shift, factor * found.high + shift)
    assert (moved.low, moved.high) == pytest.approx(expected, abs=1e-8)


@settings(deadline=None, max_examples=50)
@given(values=st.lists(numbers, min_size=2, max_size=30))
def test_a_higher_level_is_wider(values: list[float]) -> None:
    narrow, wide = interval(values, 0.8), interval(values, 0.99)
    edges = [edge for edge in (wide.low, narrow.low, narrow.high, wide.high) if edge is not None]
    assert len(edges) == 4 and edges == sorted(edges)


def test_an_interval_stays_where_scores_can_lie() -> None:
    for values in ([0.0, 0.9, 1.0, 1.0], [0.0, 0.1, 0.0, 0.0], [*[0.0] * 19, 1.0, *[1.0] * 9]):
        free, cut, far = interval(values), interval(values, bounds=(0.0, 1.0)), interval(values, bounds=(0.0, 0.95))
        assert free.low is not None and cut.low is not None and free.high is not None and cut.high is not None
        assert 0 <= cut.low <= max(free.low, 0.0) and min(free.high, 1.0) <= cut.high <= 1 and cut.mean == free.mean
        assert (far.low, far.high) == (max(free.low, 0.0), min(free.high, 0.95))  # bounds that are not accuracies'
    assert interval([0.0, 0.9, 1.0, 1.0]).high > 1  # type: ignore[operator]


@pytest.mark.parametrize("n", [2, 6, 19, 20])
def test_few_accuracies_have_an_interval_on_logits_too(n: int) -> None:
    """The union of both below 20 values; the end of either reaches further on its side."""
    values = np.random.default_rng(n).beta(20, 1, size=n).round(3)
    found = interval(values, bounds=(0.0, 1.0))
    assert found.low is not None and found.high is not None
    logits = np.log((1000 * values + 0.5) / (1000 * (1 - values) + 0.5))
    plain = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
    scaled = 1 / (1 + np.exp(-np.array(stats.t.interval(0.95, n - 1, logits.mean(), stats.sem(logits)))))
    union = (max(0.0, min(plain[0], scaled[0])), min(1.0, max(plain[1], scaled[1])))
    assert ((found.low, found.high) == pytest.approx(union)) is (n < 20)


@pytest.mark.parametrize("freedom", [0.7, 1, 1.5, 4.99, 10, 123.4, 5000.5])
@pytest.mark.parametrize("t", [0.0, 0.01, 0.5, 2.2, 10, 100])
def test_tails_are_scipys_for_any_degrees_of_freedom(t: float, freedom: float) -> None:
    assert tails(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize(
    ("values", "says"),
    [([], "at least one value"), ([0.5, float("nan")], "1 of 2"), ([float("inf"), float("-inf"), 0.1], "2 of 3")],
)
def test_values_that_are_no_numbers_are_refused(values: list[float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        interval(values)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        interval([0.1, 0.2], level)


def normal(n: int) -> tuple[np.ndarray, float]:
    return np.random.default_rng(n).normal(size=(2000, n)), 0.0


def accuracies(n: int) -> tuple[np.ndarray, float]:
    """Most seeds near 1, a tail of bad ones."""
    return np.random.default_rng(n).beta(9, 1, size=(2000, n)), 0.9


def coverage(samples: np.ndarray, mean: float, method: Method) -> float:
    """The share of samples whose 95 % interval contains the mean; for 2000 of them, ± 1 point."""
    low, high = method(np.sort(samples, axis=1), 0.95)
    return float(((low <= mean) & (mean <= high)).mean())


def reported(table: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    found = intervals(table.ravel(), np.full(len(table), table.shape[1]), level)
    first, alone = found[0], interval(table[0], level)
    assert first is not None and (first.low, first.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
    low, high = zip(*((own.low, own.high) for own in found if own is not None), strict=True)
    return np.array(low), np.array(high)


@pytest.mark.parametrize(("n", "least", "most"), [(5, 0.935, 0.965), (10, 0.935, 0.965), (20, 0.91, 0.95)])
def test_coverage_of_normal_values(n: int, least: float, most: float) -> None:
    """Student t keeps its promise; BCa at 20 keeps about 93 of 95."""
    assert least <= coverage(*normal(n), reported) <= most


@pytest.mark.parametrize(("n", "least"), [(5, 0.88), (10, 0.89), (20, 0.91)])
def test_coverage_of_skewed_accuracies(n: int, least: float) -> None:
    """No method knows of a tail that it has not seen: about 90 of 95, better with more seeds."""
    assert least <= coverage(*accuracies(n), reported) <= 0.95


def test_the_union_covers_accuracies_near_1_better() -> None:
    """Errors that are exponential, as those of encodings near 1 are."""
    samples = (1 - np.random.default_rng(0).exponential(0.01, size=(2000, 6))).round(3)

    def bounded(table: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
        found = intervals(table.ravel(), np.full(len(table), table.shape[1]), level, (0.0, 1.0))
        low, high = zip(*((own.low, own.high) for own in found if own is not None), strict=True)
        return np.array(low), np.array(high)

    both, alone = coverage(samples, 0.99, bounded), coverage(samples, 0.99, student)
    assert alone < 0.9 < both


@pytest.mark.parametrize("source", [normal, accuracies])
def test_the_bootstrap_of_five_is_why_student_is_used(source: Callable[[int], tuple[np.ndarray, float]]) -> None:
    samples, mean = source(5)
    by_bootstrap, by_student = coverage(samples, mean, bca), coverage(samples, mean, student)
    assert by_bootstrap < 0.86
    assert by_student > by_bootstrap + 0.05
