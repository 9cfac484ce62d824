"""The curve of a run over lengths: its area against numpy, and where it crosses a bar."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinate.statistics.length_curve import Crossing, Point, area, crossing
from ordinate.statistics.reach import Reach

BAR = 0.95
points_of_a_curve = st.lists(
    st.tuples(st.integers(1, 1000), st.floats(0, 1)), min_size=2, max_size=8, unique_by=lambda point: point[0]
)
curves = points_of_a_curve.map(lambda points: [Point(length, score) for length, score in sorted(points)])


@settings(deadline=None)
@given(curves)
def test_the_area_is_numpys_mean_over_log_length(points: list[Point]) -> None:
    logs, scores = np.log([p.length for p in points]), np.array([p.score for p in points])
    found = area(points, {})
    assert found == pytest.approx(np.trapezoid(scores, logs) / (logs[-1] - logs[0]), abs=1e-12)
    assert min(scores) - 1e-12 <= found <= max(scores) + 1e-12
    twice = [Point(2 * p.length, p.score) for p in points]
    assert area(twice, {}) == pytest.approx(found, abs=1e-9)  # multiples of the trained length, whatever it is


def test_the_area_counts_the_floor_where_an_encoding_cannot_go() -> None:
    points = [Point(32, 1.0), Point(64, 0.5), Point(128, None)]
    assert area(points, {64: 0.1, 128: 0.2}) == pytest.approx((0.75 + 0.35) / 2)
    assert area(points, None) is None  # a loss has no floor
    assert area([Point(32, 1.0), Point(64, None, True), Point(128, 0.5)], {64: 0.1}) is None  # nobody tested it there
    assert area([Point(32, 1.0)], {}) is None


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((1.0, 1.0, 0.95), Crossing(128.0, censored=True)),
        ((1.0, 1.0, 0.90), Crossing(64 * math.sqrt(2))),  # half way between 1.0 and 0.9, in logs
        ((1.0, 0.90, 1.0), Crossing(32 * math.sqrt(2))),  # where it first falls, not where it rises again
        ((0.95, 0.1, 0.1), Crossing(32.0)),
        ((0.94, 1.0, 1.0), Crossing(0.0)),
        ((1.0, None, None), Crossing(32.0)),
        ((None, 1.0, 1.0), Crossing(0.0)),
    ],
)
def test_crossings_by_hand(scores: tuple[float | None, ...], expected: Crossing) -> None:
    found = crossing([Point(32 * 2**at, score) for at, score in enumerate(scores)], BAR)
    assert found.length == pytest.approx(expected.length)
    assert (found.censored, found.untested) == (expected.censored, expected.untested)


def test_a_crossing_ends_where_nothing_was_tested() -> None:
    assert crossing([Point(32, 1.0), Point(64, None, True), Point(128, 1.0)], BAR) == Crossing(32, untested=True)
    assert crossing([], BAR) == Crossing(0.0, untested=True)


def test_two_scores_on_either_side_of_the_bar_tell_one_story() -> None:
    """0.949 and 0.951 at 2x: the reach of both is close to 2x."""
    below, above = (crossing([Point(32, 1.0), Point(64, score), Point(128, 0.5)], BAR) for score in (0.949, 0.951))
    assert below.length == pytest.approx(above.length, rel=0.02) == pytest.approx(64, rel=0.02)


@settings(deadline=None)
@given(curves, st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_crossing_lies_between_its_lengths_and_a_higher_bar_comes_no_later(
    points: list[Point], one: float, two: float
) -> None:
    low, high = (crossing(points, bar) for bar in sorted((one, two)))
    assert high.length <= low.length * (1 + 1e-9)
    assert low.length == 0 or points[0].length * (1 - 1e-9) <= low.length <= points[-1].length * (1 + 1e-9)
    assert low.censored == all(p.score is not None and p.score >= min(one, two) for p in points)
    scaled = crossing([Point(3 * p.length, p.score) for p in points], min(one, two))
    assert scaled.length == pytest.approx(3 * low.length, rel=1e-9)


@pytest.mark.parametrize("n", [6, 20, 499, 501, 20_000])
def test_the_interval_of_the_median_leaves_out_as_many_as_the_binomial_allows(n: int) -> None:
    reach = Reach(tuple(float(value) for value in range(n)), float(n))
    assert reach.interval is not None
    outside = int(reach.interval[0])  # of the numbers from 0 on
    assert 2 * stats.binom.cdf(outside, n, 0.5) <= 0.0505 and 2 * stats.binom.cdf(outside + 2, n, 0.5) > 0.0495
