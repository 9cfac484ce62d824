"""The script that Streamlit runs, once for every visit and every click: it finds the page and draws it."""

from pathlib import Path

import streamlit as st

from ordinate.app.pages import compare, comparisons, encodings, results, runs
from ordinate.core.errors import InputError

PAGES = {
    "compare": (compare.page, "Compare", ":material/balance:"),
    "comparisons": (comparisons.page, "Comparisons", ":material/bar_chart:"),
    "runs": (runs.page, "Runs", ":material/table_rows:"),
    "results": (results.page, "Your results", ":material/upload_file:"),
    "encodings": (encodings.page, "Encodings", ":material/sort:"),
}

# An icon of its own: the symbols of Streamlit's menus would be asked for over the network, to stand in the tab.
st.set_page_config(page_title="Ordinate", page_icon=Path(__file__).with_name("icon.png"), layout="wide")
chosen = st.navigation(
    [
        st.Page(draw, title=title, icon=icon, url_path=name, default=name == "compare")
        for name, (draw, title, icon) in PAGES.items()
    ],
    position="top",
)
try:
    chosen.run()
except InputError as error:  # a mistake of the user's, as on the command line: one sentence
    st.error(str(error).replace("[", r"\[").replace("`", r"\`"))
