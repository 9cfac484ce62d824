"""Learn: the lessons, one at a time; the lesson and what was moved in it are in the address."""

import streamlit as st

WIDTH = 900  # pixels: a line of prose that can be read


def page() -> None:
    """The chosen lesson, else the list of all."""
    from ordinate import lessons  # imports torch: only when this page is opened
    from ordinate.app import lesson_view as view

    with st.container(width=WIDTH):
        wanted = st.query_params.get("lesson", "")
        if wanted:
            view.show(lessons.get(wanted))
        else:
            view.show_list(lessons.every())
