"""Windows score every token once, with the context that their protocol promises."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.core.errors import InputError
from ordinate.lm.evaluation.windows import rolling_windows, target_windows


@given(st.integers(0, 200), st.integers(1, 50), st.data())
def test_every_token_but_the_first_is_scored_once(tokens: int, context: int, data: st.DataObject) -> None:
    stride = data.draw(st.integers(1, context))
    windows = rolling_windows(tokens, context, stride)
    scored = np.concatenate([np.empty(0, int), *(np.arange(w.stop - w.scored, w.stop) for w in windows)])
    assert scored.tolist() == list(range(1, tokens))
    for window in windows:
        assert window.start >= 0 and window.context <= context
        if stride < context:  # all that fits is read
            assert window.start == max(0, window.stop - 1 - context)


@given(st.integers(2, 200), st.integers(1, 50))
def test_disjoint_windows_restart_where_the_last_one_ended(tokens: int, context: int) -> None:
    windows = rolling_windows(tokens, context, context)
    for window, after in pairwise(windows):
        assert after.start == window.stop - 1
    assert all(window.scored == window.context for window in windows)


def test_stride_one_gives_each_token_its_whole_context() -> None:
    windows = rolling_windows(20, 6, 1)
    befores = {w.stop - 1: w.context for w in windows[1:]}
    assert befores == dict.fromkeys(range(7, 20), 6)
    assert windows[0].start == 0 and windows[0].scored == 6


@given(st.integers(1, 40), st.integers(1, 60), st.data())
def test_targets_have_the_promised_context(scored: int, context: int, data: st.DataObject) -> None:
    stride = data.draw(st.integers(1, context))
    first = context + 5
    windows = target_windows(first, first + scored, context, stride)
    covered = np.concatenate([np.arange(w.stop - w.scored, w.stop) for w in windows])
    assert covered.tolist() == list(range(first, first + scored))
    for window in windows:
        assert window.context == context
        assert window.stop - window.scored - window.start >= context - stride + 1


def test_windows_without_room_or_that_skip_tokens_are_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        target_windows(3, 10, 50, 2)
    for stride in (0, 7):
        with pytest.raises(InputError, match="stride"):
            rolling_windows(10, 6, stride)
