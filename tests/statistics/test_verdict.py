"""The words, in the order in which they are decided."""

import random
import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinate.statistics.distributions import band
from ordinate.statistics.words import Score, Word, normalized, word, words_of

BAR = 0.95
shares = st.floats(0, 1)
floors = st.floats(0, 0.9)
sequences = st.integers(1, 3000)


def scores(values: st.SearchStrategy[float | None] = shares) -> st.SearchStrategy[Score]:
    return st.builds(Score, values, floors, sequences)


anything = st.none() | scores(st.none() | shares)
fitted = st.builds(Score, st.floats(BAR, 1), st.floats(0, 0.5), st.integers(100, 3000))


@settings(deadline=None)
@given(inside=scores(st.none() | shares), outside=anything)
def test_diverged_comes_first(inside: Score, outside: Score | None) -> None:
    assert word(BAR, inside, outside, diverged=True) == "diverged"


@settings(deadline=None)
@given(inside=scores(), outside=anything)
def test_then_the_training_range_decides(inside: Score, outside: Score | None) -> None:
    """At chance goes before not fitting, and both before anything about other ranges."""
    found = word(BAR, inside, outside)
    if inside.value <= band(inside.floor, inside.sequences)[1]:
        assert found == "at chance"
    elif inside.value < BAR:
        assert found == "did not fit"
    else:
        assert found in ("out of range", "solves", "partial", "fits")


@settings(deadline=None)
@given(inside=fitted, outside=scores(st.none() | shares))
def test_last_the_other_range(inside: Score, outside: Score) -> None:
    found = word(BAR, inside, outside)
    if outside.value is None:
        assert found == "out of range"
    elif outside.value >= BAR:
        assert found == "solves"
    else:
        assert found == ("partial" if outside.value > band(outside.floor, outside.sequences)[1] else "fits")


@settings(deadline=None)
@given(inside=fitted)
def test_alone_the_training_range_is_solved(inside: Score) -> None:
    assert word(BAR, inside, None) == "solves"


def test_by_hand() -> None:
    """Of 1000 coins, 531 heads are the most that 95 % of all throws keep to."""
    at = {value: Score(value, 0.5, 1000) for value in (0.5, 0.531, 0.532, 0.949, 0.95, 1.0)}
    inside = [word(BAR, score, None) for score in at.values()]
    assert inside == ["at chance", "at chance", "did not fit", "did not fit", "solves", "solves"]
    outside = [word(BAR, at[1.0], score) for score in at.values()]
    assert outside == ["fits", "fits", "partial", "partial", "solves", "solves"]
    assert word(BAR, at[1.0], Score(None, 0.5, 1000)) == "out of range"


@settings(deadline=None)
@given(chance=floors, value=shares)
def test_normalized_is_zero_at_chance_and_one_when_all_is_right(chance: float, value: float) -> None:
    assert normalized(chance, chance) == 0 and normalized(1.0, chance) == 1
    assert (normalized(value, chance) > 0) == (value - chance > 0)


def test_without_a_score_in_distribution_nothing_is_known() -> None:
    assert word(BAR, Score(None, 0.1, 1000), None) == "not scored in distribution"
    assert word(BAR, Score(None, 0.1, 1000), Score(1.0, 0.1, 1000)) == "not scored in distribution"


def test_no_number_beyond_is_diverged_and_not_out_of_range() -> None:
    assert word(BAR, Score(1.0, 0.1, 1000), Score(None, 0.1, 1000, diverged=True)) == "diverged"


def rows(**scores: float | None) -> list[Any]:
    found = ((*re.findall(r"[a-z]+|\d+", name), score) for name, score in scores.items())
    return [
        SimpleNamespace(split=split, length=int(length), score=score, floor=0.1, sequences=1000)
        for split, length, score in found
    ]


def test_the_words_of_a_run() -> None:
    """The longest range in distribution decides about all others; those in it, and validation, speak for themselves."""
    learned = rows(valid32=0.5, id8=0.9, id32=1.0, ood64=0.96, ood96=0.5, ood128=0.1, ood256=None, shift32=0.97)
    assert words_of(learned, BAR) == [
        "did not fit", "did not fit", "solves", "solves", "partial", "fits", "out of range", "solves",
    ]  # fmt: skip
    assert words_of(rows(id8=1.0, id32=0.9, ood64=1.0), BAR) == ["solves", "did not fit", "did not fit"]
    assert words_of(learned, BAR, True) == [Word.DIVERGED] * 8
    assert words_of(learned, None) == [None] * 8
    assert words_of(rows(ood64=0.96, ood96=0.5), BAR) == [Word.UNKNOWN] * 2  # nothing to judge by
    assert f"{Word.AT_CHANCE}" == "at chance"


@pytest.mark.parametrize("salt", range(20))
def test_the_band_is_scipys_at_any_size(salt: int) -> None:
    """Counted one by one where that can be done, and right to the last sequence beyond."""
    source = random.Random(salt)
    sequences = int(10 ** source.uniform(0, 15))
    rate = source.choice([source.random(), 10 ** source.uniform(-9, 0), 1 / 16, 0.5])
    expected = stats.binom.ppf([0.025, 0.975], sequences, rate)
    assert [round(end * sequences) for end in band(rate, sequences)] == pytest.approx(expected, abs=0.5, rel=1e-15)
