"""Figures on a page of the app: charts with their data, and attention maps with pickers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import streamlit as st

from ordinate.core.errors import InputError
from ordinate.report.attention import all_heads, one_head
from ordinate.report.attention_example import AttentionExample, read_examples
from ordinate.report.chart import Figure, Heat, data
from ordinate.report.draw_plotly import SETTINGS, draw
from ordinate.report.table import comma_separated

Bind = Literal["query-params"] | None


def show(figure: Figure, key: str, *, heading: bool = True, download: bool = True, height: int | None = None) -> None:
    """One picture, its note, and the numbers behind it. A page that shows two of a kind gives each a `key`."""
    if heading:
        st.markdown(f"**{plain(figure.title)}**")
    if isinstance(figure, Heat) and not figure.panels:
        st.info(plain(figure.note))
        return
    import pandas  # noqa: F401  plotly looks at it, which fails while another thread is importing it

    drawn = draw(figure)
    drawn["layout"] |= {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
    if height is not None:
        drawn["layout"]["height"] = height
    st.plotly_chart(drawn, key=key, config=SETTINGS, alt=figure.title)
    if figure.note:
        st.caption(plain(figure.note))
    if download:
        st.download_button(
            "Data as CSV", lambda: comma_separated(data(figure)), f"{figure.name}.csv", "text/csv",
            key=f"{key}-data", on_click="ignore", type="tertiary", icon=":material/download:",
        )  # fmt: skip


def show_rows(charts: Sequence[Figure], key: str, count: int = 2) -> None:
    """`count` charts per row; a narrow window stacks them."""
    for start in range(0, len(charts), count):
        for column, chart in zip(st.columns(count), charts[start : start + count], strict=False):
            with column:
                show(chart, f"{key}-{chart.name}")


def plain(text: str) -> str:
    """Text with everything escaped that Streamlit would take for Markdown."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]()#+-.!|<>$:~&^=" else letter for letter in text)


class KeptAttention(NamedTuple):
    """The attention maps of a run on a task."""

    path: Path
    task: str


def choose_attention(kept: Mapping[str, KeptAttention], key: str, *, what: str, bind: Bind = None) -> None:
    """Pickers, the head that they choose, and all heads. `kept` has a file for each of `what`, the one to show first
    at its beginning; bound, the head is part of the address."""
    if not kept:
        return
    st.markdown("**Attention**")
    before = f"{key}-attention-" if bind is None else ""
    with st.container(horizontal=True):
        name = next(iter(kept))
        if len(kept) > 1:
            name = st.selectbox(what, list(kept), key=f"{key}-attention-of", width=260)
        path, task = kept[name]
        examples = read_attention(path, task, path.stat().st_mtime_ns) if path.exists() else []
        if not examples:
            st.info("The attention maps of this run cannot be read: train it again to draw them.")
            return
        number = 1
        if len(examples) > 1:
            every = range(1, len(examples) + 1)
            number = st.selectbox("Example", every, key=f"{before}example", bind=bind, width=120)
        example = examples[number - 1]
        heads = {head.name: head for head in example.heads}
        chosen = st.selectbox(
            "Head", list(heads), key=f"{before}head", bind=bind, width=300,
            format_func=lambda each: f"{each}: {heads[each].looks}",
            help="Layer and head, with the mean share of attention on one place; those that look most at the target, "
            "where the answer of a query stands, come first.",
        )  # fmt: skip
    title = f"Attention with {name}"
    large, small = st.columns(2)
    with large:
        picture = one_head(example, heads[chosen], f"attention {name} {chosen}", title)
        show(picture, f"{key}-attention", heading=False)
    with small:
        show(all_heads(example, f"attention {name}", f"{title}, all heads"), f"{key}-heads", heading=False)


@st.cache_data(max_entries=32, show_spinner=False)
def read_attention(path: Path, task: str, changed: int) -> list[AttentionExample]:
    """The examples of a file; none if they cannot be read. `changed` is when it was written."""
    try:
        return read_examples(path, task)
    except InputError:
        return []
