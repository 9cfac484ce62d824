"""The page comparisons."""

import streamlit as st


def page() -> None:
    """Draw it."""
    st.title("comparisons")
