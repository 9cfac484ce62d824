"""A lesson on a page: what it is for, its blocks from top to bottom, and the way to the next one."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from ordinate import lessons
from ordinate.app import figure_view
from ordinate.app.exercise_view import show_exercise
from ordinate.app.figure_view import plain
from ordinate.app.navigation import open_page
from ordinate.report.table import Table, is_number, markdown_text
from ordinate.teaching.lesson import (
    Control,
    Evidence,
    Exercise,
    Explore,
    Lesson,
    Picker,
    Predict,
    Prose,
    Revealed,
    Shown,
    Value,
)

COMPACT = 230  # pixels: the height of figures that stand side by side in threes and fours


def show_list(every: Sequence[Lesson]) -> None:
    """All lessons, each with its question and a button."""
    st.title("Learn", anchor=False)
    st.markdown(
        f"{len(every)} short lessons on how a transformer knows where a token stands. In each you **predict** before "
        "you see, **move** something, read what **stored runs** with several seeds say, and **write code** that is "
        "checked. Every number is computed on the page or read from those runs."
    )
    for lesson in every:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{lesson.number} · {lesson.title}**  \n{lesson.question}")
            if st.button("Open", key=f"open-{lesson.name}", help=lesson.title):
                open_page("learn", lesson=lesson.name)


def show(lesson: Lesson) -> None:
    """One lesson."""
    if st.button("All lessons", type="tertiary", icon=":material/arrow_back:"):
        open_page("learn")
    st.title(f"{lesson.number} · {lesson.title}", anchor=False)
    st.markdown(f"*{lesson.question}*")
    goals = "\n".join(f"- {goal}" for goal in lesson.goals)
    st.markdown(f"Afterwards you can\n{goals}")
    for block in lesson.blocks:
        match block:
            case Prose():
                st.markdown(block.markdown)
                if block.code:
                    st.code(block.code)
            case Predict():
                _predict(lesson.name, block)
            case Explore():
                _explore(lesson.name, block)
            case Evidence():
                _evidence(lesson.name, block)
            case Exercise():
                show_exercise(lesson.name, block)
    st.subheader("Read on", anchor=False)
    st.markdown("\n".join(f"- {reading.markdown}" for reading in lesson.reading))
    _next(lesson)


def _next(lesson: Lesson) -> None:
    after = [other for other in lessons.every() if other.number > lesson.number]
    if after and st.button(
        f"Next: {after[0].title}", key="next-lesson", type="primary", icon=":material/arrow_forward:"
    ):
        open_page("learn", lesson=after[0].name)


@st.fragment
def _predict(lesson: str, block: Predict) -> None:
    """The measurement stays hidden until a choice is made."""
    with st.container(border=True):
        st.markdown(f":blue-badge[Predict] {block.question}")
        options = [str(number) for number in range(1, len(block.choices) + 1)]  # short in the address
        chosen = st.radio(
            "Your prediction", options, index=None, key=f"{lesson}-{block.name}", bind="query-params",
            format_func=lambda option: block.choices[int(option) - 1], label_visibility="collapsed",
        )  # fmt: skip
        if chosen is None:
            st.caption("Choose, and it is measured.")
            return
        with st.spinner("Measuring …"):
            found = _answer(lesson, block.name)
        right = block.choices[found.right]
        if int(chosen) - 1 == found.right:
            st.success(f"As measured: **{right}**.", icon=":material/check:")
        else:
            st.info(f"Measured: **{right}**.", icon=":material/science:")
        _shown(found.shown, f"{lesson}-{block.name}")


@st.fragment
def _explore(lesson: str, block: Explore) -> None:
    """Controls, and what follows from them."""
    with st.container(border=True):
        st.markdown(f":orange-badge[Move] {block.invitation}")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            values = tuple((control.name, _control(lesson, block.name, control)) for control in block.controls)
        with st.spinner("Computing …"):
            found = _explored(lesson, block.name, values)
        _shown(found, f"{lesson}-{block.name}")


def _control(lesson: str, block: str, control: Control) -> Value:
    settings: dict[str, Any] = dict(key=f"{lesson}-{block}-{control.name}", bind="query-params", width=260)
    if isinstance(control, Picker):
        chosen: str = st.selectbox(
            control.label, control.options, index=control.options.index(control.value), **settings
        )
        return chosen
    kind = int if control.whole else float
    number: Value = st.slider(
        control.label,
        kind(control.low),
        kind(control.high),
        kind(control.value),
        kind(control.step),
        format=None if control.whole else "%g",
        **settings,
    )
    return number


def _evidence(lesson: str, block: Evidence) -> None:
    with st.container(border=True):
        st.markdown(f":green-badge[Stored runs] {block.question}")
        _shown(_stored(lesson, block.name), f"{lesson}-{block.name}")


@st.cache_data(max_entries=100, show_spinner=False)
def _answer(lesson: str, name: str) -> Revealed:
    return lessons.get(lesson).block(Predict, name).answer()


@st.cache_data(max_entries=300, show_spinner=False)
def _explored(lesson: str, name: str, values: tuple[tuple[str, Value], ...]) -> Shown:
    return lessons.get(lesson).block(Explore, name).show(**dict(values))


@st.cache_data(max_entries=100, show_spinner=False)
def _stored(lesson: str, name: str) -> Shown:
    return lessons.get(lesson).block(Evidence, name).show()


def _shown(shown: Shown, key: str) -> None:
    """The sentence, then tables, then figures."""
    if shown.sentence:
        st.markdown(shown.sentence)
    for table in shown.tables:
        st.markdown(table_text(table))
    for start in range(0, len(shown.figures), shown.across):
        row = shown.figures[start : start + shown.across]
        columns = st.columns(shown.across) if shown.across > 1 else [st.container()]
        for index, (column, figure) in enumerate(zip(columns, row, strict=False)):
            with column:
                height = COMPACT if shown.across > 2 else None
                figure_view.show(figure, f"{key}-{start + index}", download=shown.across == 1, height=height)


def table_text(table: Table) -> str:
    """A table as Markdown, under its title."""
    head = [markdown_text(column.title) for column in table.columns]
    rule = ["---:" if is_number(at, table) else "---" for at in range(len(head))]
    rows = [head, rule, *table.texts(markdown_text, "**{}**")]
    lines = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return f"**{plain(table.title)}**\n\n{lines}" + (f"\n\n{plain(table.note)}" if table.note else "")
