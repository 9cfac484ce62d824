"""The page compare."""

import streamlit as st


def page() -> None:
    """Draw it."""
    st.title("compare")
