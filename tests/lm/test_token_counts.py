"""Numbers of tokens, read and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.core.errors import InputError
from ordinate.lm.token_counts import MOST, parse_tokens, write_tokens


@given(st.integers(1, MOST))
def test_what_is_written_is_read_back(count: int) -> None:
    assert parse_tokens(write_tokens(count)) == count


@pytest.mark.parametrize(
    ("text", "count"), [("2.4B", 2_400_000_000), ("500m", 500_000_000), ("20k", 20_000), ("1_000", 1000), (" 7 ", 7)]
)
def test_people_write_amounts_in_several_ways(text: str, count: int) -> None:
    assert parse_tokens(text) == count


@pytest.mark.parametrize(
    "text", ["", "0", "-5", "1.5", "0.0001k", "2.4G", "1e9", "nan", "9" * 400, "2.4B tokens", "9999T"]
)
def test_what_is_no_amount_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="number of tokens") as raised:
        parse_tokens(text)
    assert len(str(raised.value)) < 200
