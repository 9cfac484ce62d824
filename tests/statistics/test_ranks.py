"""AverageRanks, their critical difference and Friedman's test against scipy and the tables in print."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from ordinate.core.errors import InputError
from ordinate.statistics.ranks import (
    chi_square_survival,
    critical_difference,
    rank,
    ranks,
    studentized_range_quantile,
)

shapes = st.tuples(st.integers(1, 8), st.integers(1, 7))
# Few different values, so that many tie, among them the worst of all.
tables = arrays(np.float64, shapes, elements=st.sampled_from([-math.inf, 0.0, 0.25, 0.5, 1.0]))


@settings(deadline=None)
@given(scores=tables)
def test_rank_is_scipys(scores: np.ndarray) -> None:
    found = rank(scores)
    assert np.array_equal(found, stats.rankdata(-scores, axis=1))
    k = scores.shape[1]
    assert np.array_equal(found.sum(axis=1), np.full(len(scores), k * (k + 1) / 2))


def test_rank_refuses_nan() -> None:
    with pytest.raises(InputError, match="NaN"):
        rank(np.array([[0.1, math.nan]]))


def test_ranks_by_hand() -> None:
    found = ranks(["a", "b", "c"], np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.8], [0.3, 0.4, -math.inf]]))
    assert found.average == {"b": pytest.approx(3.5 / 3), "c": pytest.approx(6.5 / 3), "a": pytest.approx(8 / 3)}
    assert list(found.average) == list(found.reciprocal) == ["b", "c", "a"]
    assert found.reciprocal["b"] == pytest.approx((1 + 1 / 1.5 + 1) / 3)
    assert found.reciprocal["a"] == pytest.approx((1 / 3 + 1 / 3 + 1 / 2) / 3)
    assert found.blocks == 3


@pytest.mark.parametrize("k", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.95, 0.999])
def test_studentized_range_is_scipys(probability: float, k: int) -> None:
    expected = stats.studentized_range.ppf(probability, k, np.inf)
    assert studentized_range_quantile(probability, k) == pytest.approx(expected, rel=1e-8)


def test_the_range_of_two_is_a_normal_difference() -> None:
    assert studentized_range_quantile(0.95, 2) == pytest.approx(math.sqrt(2) * stats.norm.ppf(0.975))


@pytest.mark.parametrize(("probability", "k"), [(0.0, 3), (1.0, 3), (0.95, 1)])
def test_studentized_range_refuses_the_impossible(probability: float, k: int) -> None:
    with pytest.raises(InputError, match="at least 2 values"):
        studentized_range_quantile(probability, k)


@pytest.mark.parametrize(
    ("k", "printed"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_critical_values_are_those_in_print(k: int, printed: float) -> None:
    """Demšar 2006, table 5(a), where the last digit is not always rounded the same way."""
    assert critical_difference(k, 12) / math.sqrt(k * (k + 1) / 72) == pytest.approx(printed, abs=0.0011)


def test_the_published_example() -> None:
    """Demšar 2006, section 3.2.2: four classifiers on 14 data sets have a critical difference of 1.25."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 1999])
@pytest.mark.parametrize("value", [0.0, 0.3, 2.0, 20.0, 300.0, 2000.0])
def test_chi_square_survival_is_scipys(value: float, freedom: int) -> None:
    assert chi_square_survival(value, freedom) == pytest.approx(stats.chi2.sf(value, freedom), rel=1e-9, abs=1e-300)


@settings(deadline=None)
@given(
    scores=arrays(
        np.float64, st.tuples(st.integers(2, 8), st.integers(3, 6)), elements=st.sampled_from([0.0, 0.5, 1.0])
    )
)
def test_friedman_is_scipys_with_ties(scores: np.ndarray) -> None:
    found = ranks([f"e{column}" for column in range(scores.shape[1])], scores).friedman_p
    if (scores == scores[:, :1]).all():
        assert found is None
    else:
        assert found == pytest.approx(stats.friedmanchisquare(*scores.T).pvalue, rel=1e-9, abs=1e-12)


def test_friedman_takes_the_worst_score_for_what_it_is() -> None:
    scores = np.random.default_rng(0).random((6, 4))
    worst = np.where(scores == scores.min(axis=1, keepdims=True), -math.inf, scores)
    names = ["a", "b", "c", "d"]
    assert ranks(names, worst) == ranks(names, scores)


@settings(deadline=None)
@given(scores=tables)
def test_groups_are_the_bars_of_the_diagram(scores: np.ndarray) -> None:
    names = [f"e{column}" for column in range(scores.shape[1])]
    found = ranks(names, scores)
    if found.critical_difference is None:
        assert (len(scores) == 1 or len(names) == 1) and found.groups == () and found.friedman_p is None
        return
    order = sorted(names, key=lambda name: found.average[name])
    assert [found.average[name] for name in order] == list(found.average.values())
    for group in found.groups:
        assert len(group) >= 2
        assert not any(set(group) < set(other) for other in found.groups)
    for one in names:
        for other in names:
            near = abs(found.average[one] - found.average[other]) <= found.critical_difference
            joined = any(one in group and other in group for group in found.groups)
            assert one == other or near == joined


def test_groups_by_hand() -> None:
    """Over 60 blocks, four ranks are told apart from 0.61 on: of 1, 1.5, 2 (neighbors join) and 4 (alone)."""
    order = {1: "abcd", 2: "bacd"}
    blocks = [order[1]] * 30 + [order[2]] * 30
    scores = np.array([[-block.index(name) for name in "abcd"] for block in blocks], dtype=float)
    found = ranks(list("abcd"), scores)
    assert found.average == {"a": 1.5, "b": 1.5, "c": 3.0, "d": 4.0}
    assert found.critical_difference == pytest.approx(0.605, abs=0.001)
    assert found.groups == (("a", "b"),)
    assert found.friedman_p is not None and found.friedman_p < 1e-9
    few = ranks(list("abcd"), scores[28:32])
    assert few.groups == (("a", "b", "c"), ("c", "d"))


def test_one_name_or_one_block_is_ranked_but_not_tested() -> None:
    alone = ranks(["a"], np.array([[0.5], [0.6]]))
    assert (alone.average, alone.critical_difference, alone.friedman_p) == ({"a": 1.0}, None, None)
    once = ranks(["a", "b"], np.array([[0.5, 0.6]]))
    assert (once.average, once.critical_difference, once.friedman_p) == ({"b": 1.0, "a": 2.0}, None, None)


@pytest.mark.parametrize(
    ("names", "shape", "says"),
    [
        (["a"], (2, 2), "one name for each"),
        (["a", "a"], (2, 2), "different"),
        ([], (2, 0), "got none"),
        (["a"], (0, 1), "block"),
    ],
)
def test_ranks_refuse_a_table_without_names_or_blocks(names: list[str], shape: tuple[int, int], says: str) -> None:
    with pytest.raises(InputError, match=says):
        ranks(names, np.zeros(shape))
