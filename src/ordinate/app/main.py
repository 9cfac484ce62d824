"""The script that Streamlit runs, once for every visit and every click: it finds the page and draws it."""

from pathlib import Path

import streamlit as st

from ordinate.app import navigation, running_view
from ordinate.app.address import drop_infinite_numbers
from ordinate.app.figure_view import plain
from ordinate.core.errors import InputError

# An icon file: Streamlit would load its own symbols over the network.
st.set_page_config(page_title="Ordinate", page_icon=Path(__file__).with_name("icon.png"), layout="wide")
pages = navigation.all_pages()
chosen = st.navigation(list(pages.values()), position="hidden")
wanted = st.query_params.get("page", "compare" if chosen is pages["start"] and "task" in st.query_params else None)
if wanted in pages and pages[wanted] is not chosen:
    view = {key: st.query_params.get_all(key) for key in st.query_params if key != "page"}
    st.switch_page(pages[wanted], query_params=view)
navigation.draw_menu()
if wanted is not None and wanted not in pages:
    st.warning(f"There is no page {plain(repr(wanted))}: this is {chosen.title}.")
drop_infinite_numbers()
try:
    running_view.show()
    chosen.run()
except InputError as error:  # a mistake of the user's, as on the command line: one sentence
    st.error(plain(str(error)))
navigation.load_the_rest()
