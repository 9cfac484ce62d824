"""The page encodings."""

import streamlit as st


def page() -> None:
    """Draw it."""
    st.title("encodings")
