"""The permutation test against scipy, whole numbers and its own promises."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinate.core.errors import InputError
from ordinate.statistics import permutation as module
from ordinate.statistics.permutation import least_p, permutation, permutations

# Thousandths, as accuracies on a thousand sequences are: many sums tie, and none of them exactly in floats.
counts = st.lists(st.integers(0, 1000), min_size=1, max_size=5)


def apart(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.abs(np.mean(x, axis=axis) - np.mean(y, axis=axis))


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 5), (6, 6), (4, 8), (7, 7)])
@pytest.mark.parametrize("effect", [0.0, 0.5, 3.0])
def test_it_is_scipys(n: int, m: int, effect: float) -> None:
    source = np.random.default_rng(n)
    x, y = source.normal(effect, size=n), source.normal(size=m)
    expected = stats.permutation_test((x, y), apart, n_resamples=np.inf, vectorized=True, alternative="greater").pvalue
    assert permutation(x, y) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(one=counts, two=counts)
def test_it_counts_partings_in_whole_numbers(one: list[int], two: list[int]) -> None:
    """Brute force without any rounding: n times the other sum minus m times this one."""
    both, n, m = one + two, len(one), len(two)
    sums = [sum(both[i] for i in chosen) for chosen in combinations(range(n + m), n)]
    far = [abs((n + m) * part - n * sum(both)) for part in sums]
    expected = sum(value >= abs((n + m) * sum(one) - n * sum(both)) for value in far) / len(far)
    assert permutation([c / 1000 for c in one], [c / 1000 for c in two]) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(one=counts, two=counts, data=st.data())
def test_neither_order_nor_sides_nor_units_matter(one: list[int], two: list[int], data: st.DataObject) -> None:
    p = permutation(one, two)
    assert p == permutation(two, one) == permutation(data.draw(st.permutations(one)), two)
    assert p == permutation([-value for value in one], [-value for value in two])
    assert p == pytest.approx(permutation([v / 7 + 0.1 for v in one], [v / 7 + 0.1 for v in two]))
    assert 1 / math.comb(len(one) + len(two), len(one)) <= p * (1 + 1e-12) <= 1 + 1e-12


@pytest.mark.parametrize("n", [2, 5, 6, 7, 10, 11, 20])
def test_the_smallest_p_is_two_of_all_partings(n: int) -> None:
    """Even where partings are drawn."""
    p = permutation(np.linspace(0.5, 1.0, n), np.linspace(0.0, 0.4, n))
    assert p == pytest.approx(2 / math.comb(2 * n, n)) and least_p(n, n) == pytest.approx(p)


@pytest.mark.parametrize("n", [1, 5, 30, 300])
def test_without_differences_there_is_no_evidence(n: int) -> None:
    assert permutation([0.3] * n, [0.3] * n) == 1.0


def test_rounding_does_not_break_ties() -> None:
    """0.1 + 0.2 is not 0.3 in floats: these have the same mean."""
    assert permutation([0.1, 0.2], [0.3, 0.0]) == 1.0
    assert permutation([1e-9, 2e-9], [3e-9, 0.0]) == 1.0


def test_drawn_partings_and_the_normal_limit_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 8 and 8, where all can be had; 100,000 draws have a standard error of at most 0.0016."""
    source = np.random.default_rng(0)
    pairs = [(source.normal(0.6, size=8), source.normal(size=8)) for _ in range(5)]
    exact = permutations(pairs)
    monkeypatch.setattr(module, "EXACT", 10)
    drawn = permutations(pairs)
    assert drawn == pytest.approx(exact, abs=0.006) and drawn != exact
    assert drawn == permutations(pairs) == permutations([(b, a) for a, b in pairs])
    monkeypatch.setattr(module, "PLENTY", 10)
    assert permutations(pairs) == pytest.approx(exact, abs=0.05)


def test_thousands_are_normal() -> None:
    source = np.random.default_rng(1)
    x, y = source.normal(0.05, size=3000), source.normal(size=2000)
    assert permutation(x, y) == pytest.approx(stats.ttest_ind(x, y).pvalue, rel=0.02)


@pytest.mark.parametrize(("one", "two"), [([], [1.0]), ([1.0], []), ([0.1, float("nan")], [0.2])])
def test_it_refuses_what_it_cannot_test(one: list[float], two: list[float]) -> None:
    with pytest.raises(InputError, match="a permutation test needs"):
        permutation(one, two)
