"""An order that is computed, not stored."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.core.errors import InputError
from ordinate.text.order import permuted

KEYS = st.integers(0, 2**63 - 1)


@settings(deadline=None, max_examples=60)
@given(count=st.integers(1, 3000) | st.sampled_from([1, 2, 3, 4, 5, 16, 17, 1023, 1024, 1025, 65_536]), key=KEYS)
def test_every_place_is_taken_once(count: int, key: int) -> None:
    assert np.array_equal(np.sort(permuted(np.arange(count), count, key)), np.arange(count))


@settings(deadline=None, max_examples=60)
@given(count=st.integers(1, 2**62), key=KEYS, data=st.data())
def test_each_index_is_on_its_own(count: int, key: int, data: st.DataObject) -> None:
    """Asked alone, in any company or shape, an index has the same place."""
    indices = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=20))
    places = permuted(np.array(indices), count, key)
    assert places.min() >= 0 and places.max() < count
    assert [int(permuted(index, count, key)) for index in indices] == places.tolist()
    assert permuted(np.array(indices, dtype=np.uint64)[:, None], count, key).shape == (len(indices), 1)


def test_keys_give_unrelated_orders() -> None:
    orders = np.stack([permuted(np.arange(1000), 1000, key) for key in range(20)])
    same = (orders[:, None] == orders[None]).mean(-1)[np.triu_indices(20, 1)]
    assert same.max() < 0.01  # one place in a thousand agrees by chance
    steps = np.abs(np.diff(orders, axis=1)).mean()
    assert 320 < steps < 347  # a third of the count, as for numbers that know nothing of each other


@pytest.mark.parametrize("count", [5, 12])
def test_every_index_comes_everywhere_alike(count: int) -> None:
    """Over 1,000 keys, the chi-square of each index's places is what chance gives (mean count - 1)."""
    orders = np.stack([permuted(np.arange(count), count, key) for key in range(1000)])
    seen = np.stack([(orders == place).sum(0) for place in range(count)])
    expected = 1000 / count
    chi = ((seen - expected) ** 2 / expected).sum(0)
    assert chi.mean() < count - 1 + 4 * np.sqrt(2 * (count - 1) / count)
    assert chi.max() < count - 1 + 6 * np.sqrt(2 * (count - 1))


@pytest.mark.parametrize(("index", "count"), [(-1, 5), (5, 5), (0, 0)])
def test_an_index_outside_is_refused(index: int, count: int) -> None:
    with pytest.raises(InputError, match="an index must be"):
        permuted(index, count, 0)
