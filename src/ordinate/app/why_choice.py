"""Results or Why: the control above something that has both; what computes reasons loads torch, this does not."""

import streamlit as st


def choose(key: str, *, bind: bool = False, first: str = "Results") -> bool:
    """The tabs of something that has results and reasons: whether Why is open. Only what is open is computed."""
    chosen = st.segmented_control(
        "View", [first, "Why"], default=first, required=True, key=key, label_visibility="collapsed",
        bind="query-params" if bind else None,
    )  # fmt: skip
    return chosen == "Why"
