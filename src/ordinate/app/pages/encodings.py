"""Encodings: one explained, with controls for its parameters and pictures that follow, or two side by side."""

import streamlit as st


def page() -> None:
    """Pickers, the model around them, and one column for each encoding."""
    from ordinate.app import encoding_controls as controls  # imports torch: only when this page is opened
    from ordinate.app import encoding_view as view

    st.title("Encodings", anchor=False)
    left, right = st.columns(2)
    with left:
        first = controls.pick("encoding", "Encoding", needed=True)
    with right:
        second = controls.pick("beside", "Beside it", needed=False)
    setting = controls.ask_setting()
    if not second:
        view.show("encoding", first, setting, wide=True)
        return
    for column, slot, text in zip(st.columns(2, gap="medium"), ("encoding", "beside"), (first, second), strict=True):
        with column:
            view.show(slot, text, setting, wide=False)
