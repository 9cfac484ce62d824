"""Addresses with numbers that no field can take."""

import pytest
from streamlit.testing.v1 import AppTest

SCRIPT = """
import streamlit as st
from ordinate.app.address import drop_infinite_numbers
drop_infinite_numbers()
st.number_input("Steps", 1, 100, 5, key="steps", bind="query-params")
st.number_input("Seeds", 1, 100, 5, key="seeds", bind="query-params")
"""


@pytest.mark.parametrize("text", ["1e999", "-1e999", "inf", "nan"])
def test_an_infinite_number_is_refused_in_one_sentence(text: str) -> None:
    at = AppTest.from_string(SCRIPT, default_timeout=120)
    at.query_params["steps"], at.query_params["seeds"] = text, "3"
    at.run()
    (warning,) = at.warning
    words = f"The address requests steps={text}, which is not a finite number: the default is used."
    assert warning.value.replace("\\", "") == words and not at.exception
    assert (at.number_input(key="steps").value, at.number_input(key="seeds").value) == (5, 3)
    at.run()
    assert not at.warning and not at.exception
