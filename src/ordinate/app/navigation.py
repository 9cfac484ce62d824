"""The pages of the app and the menu that leads to them; a page's code is loaded when it is opened."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from threading import Thread

import streamlit as st

from ordinate.app.pages import PAGES

# Streamlit leaves room for a menu of its own, which it folds away in a narrow window: this one is always in view.
STYLE = """<style>
.stMainBlockContainer {padding-top: 0.75rem}
.stAppHeader {background: transparent; height: 0; min-height: 0}
.st-key-menu {gap: 0.25rem; padding-right: 5rem}
</style>"""


def all_pages() -> dict[str, st.Page]:
    """The pages by name, the first of them where the app opens."""
    found: dict[str, st.Page] = {}
    for name, (module, title, icon) in PAGES.items():
        found[name] = st.Page(_drawing(module), title=title, icon=icon, url_path=name, default=not found)
    return found


def _drawing(module: str) -> Callable[[], None]:
    def draw() -> None:
        import_module(f"ordinate.app.pages.{module}").page()

    return draw


def draw_menu() -> None:
    """A link for each page, in one line where there is room."""
    st.html(STYLE)
    with st.container(horizontal=True, key="menu"):
        for page in all_pages().values():
            st.page_link(page, width="content")


def open_page(name: str, **view: str) -> None:
    """Leave for another page, at an address that says `view`."""
    st.switch_page(all_pages()[name], query_params=view)


@cache
def load_the_rest() -> None:
    """Load what other pages need once the first one is drawn: torch takes seconds, and so does its first model."""
    Thread(target=_load, daemon=True).start()


def _load() -> None:
    from ordinate.store.examples import open_examples

    open_examples()
    for module, *_ in PAGES.values():
        import_module(f"ordinate.app.pages.{module}")
    from ordinate import encodings, tasks
    from ordinate.studies.plan import plan

    plan(tasks.names()[0], encodings.usual()[:2])
