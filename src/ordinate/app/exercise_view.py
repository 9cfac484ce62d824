"""An exercise on a page: an editor, a button, and what the check says. The code runs in a process of its own."""

import streamlit as st

from ordinate.app import student_process
from ordinate.app.figure_view import plain
from ordinate.app.prose import prose
from ordinate.teaching.check_code import Checked
from ordinate.teaching.lesson import Exercise

LINE = 24  # pixels
MONOSPACE = """<style>
[class*="st-key-code-"] textarea {font-family: "Source Code Pro", monospace; font-size: 0.875rem; white-space: pre;
  overflow-x: auto}
</style>"""


@st.fragment
def show_exercise(lesson: str, exercise: Exercise) -> None:
    """The task, its editor, the check, and the solution for those who want it."""
    key = f"{lesson}-{exercise.name}"
    with st.container(border=True):
        badge = ":red-badge[Debug]" if exercise.kind == "debug" else ":violet-badge[Code]"
        st.markdown(f"{badge} {exercise.prompt}")
        st.html(MONOSPACE)
        # never in the address: a link that somebody sends must not bring code along
        code = st.text_area(
            "Your code", exercise.starter, key=f"code-{key}", height=LINE * (exercise.starter.count("\n") + 3) + 20,
            label_visibility="collapsed",
        )  # fmt: skip
        with st.container(horizontal=True):
            if st.button("Check", key=f"check-{key}", type="primary", icon=":material/play_arrow:"):
                with st.spinner("Running your code …"):
                    st.session_state[f"checked-{key}"] = code, student_process.run(lesson, exercise.name, code)
            if exercise.hint:
                with st.popover("Hint"):
                    st.markdown(exercise.hint)
            with st.popover("Solution"):
                st.code(exercise.solution)
        checked_code, checked = st.session_state.get(f"checked-{key}", ("", None))
        if checked is not None:
            _outcome(checked, changed=checked_code != code)


def _outcome(checked: Checked, *, changed: bool) -> None:
    if changed:
        st.caption("You changed the code since the last check.")
    if checked.passed:
        st.success(prose(checked.words), icon=":material/check:")
    else:
        st.warning(prose(checked.words), icon=":material/bug_report:")
    if checked.output:
        st.caption(plain("Your code printed:"))
        st.code(checked.output, language=None)
