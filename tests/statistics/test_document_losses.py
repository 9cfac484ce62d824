"""Losses are ratios of sums, their errors are over documents, and reach is where the loss crosses."""

import math

import numpy as np
import pytest

from ordinate.core.errors import InputError
from ordinate.statistics.document_losses import DocumentLosses, context_reach, difference


def of(loss: list[float], tokens: list[int]) -> DocumentLosses:
    return DocumentLosses(tuple(loss), tuple(tokens), tuple(4 * count for count in tokens))


def test_the_mean_is_over_tokens_not_over_documents() -> None:
    losses = of([10.0, 300.0], [10, 100])
    assert losses.per_token == pytest.approx(310 / 110)  # a mean of means would be 2
    assert losses.perplexity == pytest.approx(math.exp(310 / 110))
    assert losses.bits_per_byte == pytest.approx(310 / math.log(2) / 440)


def test_parts_of_a_text_add_up() -> None:
    whole, one, two = of([6.0, 9.0], [3, 3]), of([6.0], [3]), of([9.0], [3])
    assert whole.per_token == (one.per_token * 3 + two.per_token * 3) / 6
    assert one.error is None


def test_the_error_is_that_of_repeated_samples() -> None:
    """Documents with their own difficulty and length: the spread of the estimate over many draws is its error."""
    source = np.random.default_rng(0)
    found, errors = [], []
    for _ in range(2000):
        tokens = source.integers(50, 500, 40)
        losses = of((tokens * source.normal(3.0, 0.5, 40)).tolist(), tokens.tolist())
        found.append(losses.per_token)
        errors.append(losses.error)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.05)


def test_differences_are_paired() -> None:
    source = np.random.default_rng(1)
    tokens = [100] * 12
    hard = (100 * source.normal(3.0, 1.0, 12)).tolist()
    worse = of([value + 100 * 0.2 + step for value, step in zip(hard, source.normal(0, 0.1, 12), strict=True)], tokens)
    gap = difference(worse, of(hard, tokens))
    assert gap.mean == pytest.approx(0.2, abs=0.002)
    assert gap.low is not None and gap.high is not None and 0.195 < gap.low < 0.2 < gap.high < 0.205
    with pytest.raises(InputError, match="same tokens"):
        difference(worse, of([1.0], [1]))


def test_reach_is_where_the_loss_crosses_in_the_logarithm_of_the_context() -> None:
    tokens = [100] * 8
    rows = {64: of([310.0] * 8, tokens), 128: of([300.0] * 8, tokens), 256: of([299.0] * 8, tokens)}
    rows |= {512: of([303.0] * 8, tokens), 1024: of([400.0] * 8, tokens)}
    reach = context_reach(128, rows, tolerance=0.01)
    assert reach is not None and not reach.at_least
    assert reach.context == pytest.approx(256 * 2 ** (0.02 / 0.04))  # 2.99 to 3.03 crosses 3.01 in the middle
    assert reach.low == reach.high == pytest.approx(reach.context)  # all documents agree
    assert context_reach(128, {k: v for k, v in rows.items() if k <= 256}, 0.01).at_least  # type: ignore[union-attr]
    alone = context_reach(128, {128: rows[128]}, 0.01)
    assert alone is not None and alone.context == 128 and not alone.at_least
    assert context_reach(96, rows, 0.01) is None


def test_documents_that_disagree_widen_the_reach() -> None:
    tokens, source = [100] * 20, np.random.default_rng(2)
    base = [300.0] * 20
    rows = {128: of(base, tokens), 256: of((300 + source.normal(0.0, 5.0, 20)).tolist(), tokens)}
    rows[512] = of((330 + source.normal(0.0, 20.0, 20)).tolist(), tokens)
    reach = context_reach(128, rows, 0.01)
    assert reach is not None and reach.low is not None and reach.high is not None
    assert 128 <= reach.low < reach.context <= reach.high <= 512
