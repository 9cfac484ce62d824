"""The page results."""

import streamlit as st


def page() -> None:
    """Draw it."""
    st.title("results")
