"""Pictures of a report, on a page of the app."""

import streamlit as st

from ordinate.report.chart import Figure, Heat, data
from ordinate.report.screen import SETTINGS, draw
from ordinate.report.table import comma_separated


def show(figure: Figure, key: str, *, heading: bool = True, download: bool = True) -> None:
    """One picture, its note, and the numbers behind it. A page that shows two of a kind gives each a `key`."""
    if heading:
        st.markdown(f"**{plain(figure.title)}**")
    if isinstance(figure, Heat) and not figure.panels:
        st.info(plain(figure.note))
        return
    drawn = draw(figure)
    drawn["layout"] |= {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
    st.plotly_chart(drawn, key=key, config=SETTINGS, alt=figure.title)
    if figure.note:
        st.caption(plain(figure.note))
    if download:
        st.download_button(
            "Data as CSV", lambda: comma_separated(data(figure)), f"{figure.name}.csv", "text/csv",
            key=f"{key}-data", on_click="ignore", type="tertiary", icon=":material/download:",
        )  # fmt: skip


def plain(text: str) -> str:
    """Text that Streamlit shows as it is: whatever its Markdown would take for markup stands behind a backslash."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]()#+-.!|<>$:~&^=" else letter for letter in text)
