"""The page runs."""

import streamlit as st


def page() -> None:
    """Draw it."""
    st.title("runs")
