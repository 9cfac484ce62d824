"""Numbers in an address that no field of a form can take."""

import math

import streamlit as st

from ordinate.app.figure_view import plain

_DROPPED = "dropped-from-address"


def drop_infinite_numbers() -> None:
    """Remove `steps=1e999` and the like before a widget reads it, with a sentence: Streamlit would raise."""
    view = {name: st.query_params.get_all(name) for name in st.query_params}
    bad = [f"{name}={value}" for name, values in view.items() for value in values if _infinite(value)]
    if bad:
        st.session_state[_DROPPED] = ", ".join(bad)
        st.query_params.from_dict({name: values for name, values in view.items() if not any(map(_infinite, values))})
        st.rerun()
    if _DROPPED in st.session_state:
        dropped = st.session_state.pop(_DROPPED)
        st.warning(plain(f"The address requests {dropped}, which is not a finite number: the default is used."))


def _infinite(text: str) -> bool:
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return False
