"""The server of the app, which `ordinate app` starts: the pages of main.py behind `Door`, each also at its own address.

The browser's side of Streamlit looks for its server below a page's address first, which leaves two errors in the
console. So /runs?task=k_back is sent to /?page=runs&task=k_back, from where main.py opens the page.
"""

import os
import signal
import sys
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from streamlit import config

from ordinate.app.door import NAMES, Door
from ordinate.app.pages import PAGES

# No file watcher, which fails on torch; no usage statistics; result files of up to 200 MB.
OPTIONS: dict[str, Any] = {
    "server.address": NAMES[0], "server.headless": True, "server.fileWatcherType": "none", "server.maxUploadSize": 200,
    "browser.gatherUsageStats": False, "client.toolbarMode": "minimal", "client.showErrorDetails": "type",
    "global.disableWidgetStateDuplicationWarning": True,  # a form that is filled again has defaults all the same
    "client.showSidebarNavigation": False,  # a list of files, shown until the first page is drawn
    "logger.level": "warning", "logger.hideWelcomeMessage": True,
    "theme.light.primaryColor": "#0072B2", "theme.dark.primaryColor": "#56B4E9",
}  # fmt: skip


def main() -> None:
    """Serve on the port that is given until stdin ends. Its first line has the token and, for a browser, a ticket."""
    port, (token, *tickets) = int(sys.argv[1]), sys.stdin.readline().split()
    config.get_config_files = _no_files
    Thread(target=_end_with_parent, daemon=True).start()
    routes = [Route(f"/{name}", _by_the_root) for name in PAGES]
    door = Middleware(Door, port=port, token=token, tickets=tickets)
    st.App(Path(__file__).with_name("main.py"), routes=routes, middleware=[door]).run(
        config=OPTIONS | {"server.port": port}
    )


def _no_files(file_name: str) -> list[str]:
    """A .streamlit folder of the user, or one in a folder from elsewhere, belongs to other apps."""
    return []


def _by_the_root(request: Request) -> RedirectResponse:
    view = [("page", request.url.path.strip("/")), *request.query_params.multi_items()]
    return RedirectResponse(f"/?{urlencode(view)}")


def _end_with_parent() -> None:
    """The other end of stdin closes when `ordinate app` ends, even if it is killed."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
