"""Streamlit collects garbage after every run of its script, and looks through all of torch for it each time."""

import gc

import streamlit as st


@st.cache_resource(show_spinner=False)
def settle() -> None:
    """What is loaded by now stays, once and for all: collections leave it alone, and watching costs half of it."""
    gc.collect()
    gc.freeze()
