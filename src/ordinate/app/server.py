"""What `streamlit run` serves: the pages of main.py, each also at its own address.

The browser's side of Streamlit looks for its server below a page's address first, which leaves two errors in the
console. So /runs?task=k_back is sent to /?page=runs&task=k_back, from where main.py opens the page.
"""

from importlib import import_module
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

from ordinate.app.pages import PAGES
from ordinate.store.examples import open_examples


def _by_the_root(request: Request) -> RedirectResponse:
    view = [("page", request.url.path.strip("/")), *request.query_params.multi_items()]
    return RedirectResponse(f"/?{urlencode(view)}")


def _warm_up() -> None:
    """Load what the first page needs while the browser loads its part."""
    open_examples()
    for module, *_ in PAGES.values():
        import_module(f"ordinate.app.pages.{module}")


Thread(target=_warm_up, daemon=True).start()
app = st.App(Path(__file__).with_name("main.py"), routes=[Route(f"/{name}", _by_the_root) for name in PAGES])
