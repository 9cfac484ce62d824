"""The sign-flip test and Holm's correction against scipy, brute force and their own promises."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinate.core.errors import InputError
from ordinate.statistics import pairs
from ordinate.statistics.pairs import holm, seeds_needed, sign_flip

# Thousandths, as accuracies on a thousand sequences are: many sums tie, and none of them exactly in floats.
differences = st.lists(st.integers(-30, 30).map(lambda count: count / 1000), min_size=1, max_size=10)
shares = st.lists(st.floats(0, 1), max_size=12)


def mean_difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.mean(x - y, axis=axis))


@pytest.mark.parametrize("n", [2, 3, 5, 8, 11])
@pytest.mark.parametrize("effect", [0.0, 0.5, 3.0])
def test_sign_flip_is_scipys_permutation_test(n: int, effect: float) -> None:
    source = np.random.default_rng(n)
    x, y = source.normal(effect, size=n), source.normal(size=n)
    expected = stats.permutation_test(
        (x, y), mean_difference, permutation_type="samples", n_resamples=np.inf, vectorized=True
    ).pvalue
    assert sign_flip(x - y) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(found=differences)
def test_sign_flip_counts_signs_in_whole_numbers(found: list[float]) -> None:
    """Brute force without any rounding."""
    counts = [round(1000 * difference) for difference in found]
    sums = np.abs(np.array(list(product((-1, 1), repeat=len(counts)))) @ counts)
    assert sign_flip(found) == (sums >= abs(sum(counts))).mean()


@settings(deadline=None, max_examples=60)
@given(found=differences, data=st.data())
def test_sign_flip_is_symmetric(found: list[float], data: st.DataObject) -> None:
    p = sign_flip(found)
    assert p == sign_flip([-difference for difference in found]) == sign_flip(data.draw(st.permutations(found)))
    assert 2 / 2 ** len(found) <= p <= 1


@pytest.mark.parametrize("n", [1, 2, 6, 8, 19, 20])
def test_the_smallest_p_is_one_of_all_signs(n: int) -> None:
    assert sign_flip([0.1] * n) == sign_flip(np.linspace(-1.0, -0.5, n)) == 2 / 2**n


@pytest.mark.parametrize("n", [1, 5, 20, 21])
def test_without_differences_there_is_no_evidence(n: int) -> None:
    assert sign_flip([0.0] * n) == 1.0


def test_rounding_does_not_break_ties() -> None:
    """0.1 + 0.2 - 0.3 is not 0 in floats: of the eight signs, all reach a sum of nothing."""
    assert sign_flip([0.1, 0.2, -0.3]) == 1.0
    assert sign_flip([1e-9 * value for value in (0.1, 0.2, -0.3)]) == 1.0


def test_above_twenty_pairs_drawn_signs_agree_with_all_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 16 pairs, where both can be had; 100,000 draws have a standard error of at most 0.0016."""
    values = [np.random.default_rng(seed).normal(0.4, size=16) for seed in range(5)]
    exact = [sign_flip(value) for value in values]
    monkeypatch.setattr(pairs, "EXACT", 15)
    drawn = [sign_flip(value) for value in values]
    assert drawn == pytest.approx(exact, abs=0.006)
    assert drawn != exact


def test_drawn_signs_never_give_zero_and_always_the_same() -> None:
    assert sign_flip([0.5] * 60) == 1 / 100_001
    values = np.random.default_rng(0).normal(0.2, size=40)
    assert sign_flip(values) == sign_flip(values[::-1]) == sign_flip(-values)


@pytest.mark.parametrize("values", [[], [0.1, float("nan")]])
def test_sign_flip_refuses_what_it_cannot_test(values: list[float]) -> None:
    with pytest.raises(InputError, match="a sign-flip test needs"):
        sign_flip(values)


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
    assert all(after <= min(1.0, len(p) * before) for before, after in zip(p, corrected, strict=True))
    by_p = [after for _, after in sorted(zip(p, corrected, strict=True))]
    assert by_p == sorted(by_p)


@pytest.mark.parametrize("p", [[0.5, float("nan")], [1.1], [-0.1]])
def test_holm_refuses_what_is_no_p(p: list[float]) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        holm(p)


@pytest.mark.parametrize(("encodings", "seeds"), [(2, 6), (4, 8), (6, 10), (10, 11)])
def test_seeds_needed_are_those_of_the_rules(encodings: int, seeds: int) -> None:
    assert seeds_needed(encodings) == seeds


@pytest.mark.parametrize("encodings", [2, 3, 4, 6, 10])
def test_a_claim_is_possible_with_the_seeds_needed_and_not_with_one_less(encodings: int) -> None:
    """The clearest case: one pair differs for every seed, and all others are alike."""
    count = encodings * (encodings - 1) // 2
    needed = seeds_needed(encodings)
    least = {seeds: min(holm([sign_flip([1.0] * seeds), *[1.0] * (count - 1)])) for seeds in (needed - 1, needed)}
    assert least[needed] < 0.05 <= least[needed - 1]


def test_seeds_needed_refuses_what_cannot_be_claimed() -> None:
    with pytest.raises(InputError, match="at least 2 encodings, got 1"):
        seeds_needed(1)
    with pytest.raises(InputError, match="alpha"):
        seeds_needed(2, alpha=0.0)
