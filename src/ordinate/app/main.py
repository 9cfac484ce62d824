"""The script that Streamlit runs, once for every visit and every click: it finds the page and draws it."""

from importlib import import_module
from pathlib import Path

import streamlit as st

from ordinate.app.figure_view import plain
from ordinate.app.pages import PAGES
from ordinate.core.errors import InputError


def _pages() -> dict[str, st.Page]:
    """The pages by name, the first of them where the app opens."""
    found: dict[str, st.Page] = {}
    for name, (module, title, icon) in PAGES.items():
        draw = import_module(f"ordinate.app.pages.{module}").page
        found[name] = st.Page(draw, title=title, icon=icon, url_path=name, default=not found)
    return found


# An icon file: Streamlit would load its own symbols over the network.
st.set_page_config(page_title="Ordinate", page_icon=Path(__file__).with_name("icon.png"), layout="wide")
pages = _pages()
chosen = st.navigation(list(pages.values()), position="top")
wanted = st.query_params.get("page")
if wanted in pages and pages[wanted] is not chosen:
    view = {key: st.query_params.get_all(key) for key in st.query_params if key != "page"}
    st.switch_page(pages[wanted], query_params=view)
if wanted is not None and wanted not in pages:
    st.warning(f"There is no page {plain(repr(wanted))}: this is {chosen.title}.")
try:
    chosen.run()
except InputError as error:  # a mistake of the user's, as on the command line: one sentence
    st.error(plain(str(error)))
