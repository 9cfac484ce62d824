"""`ordinate app`: the pages, in a browser."""

import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from secrets import token_urlsafe

from typer import Option

from ordinate.cli.lm.request import CHECKPOINTS, DATA, Root
from ordinate.cli.options import RUNS, StoreFolder
from ordinate.core.errors import InputError

HOST = "127.0.0.1"


def run(
    store: StoreFolder = RUNS,
    checkpoints: Root = CHECKPOINTS,
    data: Path = Option(DATA, "--data", help="Folder of the prepared text of language models."),
    port: int = Option(8501, help="Port of the app; if it is taken, the next free one."),
    browser: bool = Option(True, "--browser/--no-browser", help="Open the app in a browser."),
) -> None:
    """Open the app in a browser. It is served to this user on this machine only (127.0.0.1); Ctrl-C stops it.

    A browser needs the printed address, with its token, once. Comparisons started in the app continue when it stops,
    and are shown again at its next start.
    """
    from ordinate.core.extras import require_extra
    from ordinate.store import open_store

    require_extra("app")
    from ordinate.app import stores
    from ordinate.app.door import own_token

    if not 1 <= port <= 65535:
        raise InputError(f"--port must be from 1 to 65535, got {port}")
    open_store(store).check_place()
    at = _free(port)
    # Everyone can see the address with which a browser is started, so its token is good once.
    token, ticket = own_token(), token_urlsafe() if browser else ""
    # Settings of Streamlit that the user made for other apps must not open this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}
    folders = {stores.STORE: str(store), stores.CHECKPOINTS: str(checkpoints), stores.DATA: str(data)}
    server = subprocess.Popen(
        [sys.executable, "-m", "ordinate.app.server", str(at)],
        env=environment | folders, stdin=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdin is not None
    print(token, ticket, file=server.stdin, flush=True)  # it stays open: the server ends when this process does
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # ends the server too
    try:
        _opened(server, at, token, ticket)
        server.wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.terminate()
        server.wait()


def _free(port: int) -> int:
    """The first free port from this one on."""
    for tried in range(port, min(port + 50, 65536)):
        with socket.socket() as there:
            there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                there.bind((HOST, tried))
            except (OSError, OverflowError):
                continue
        return tried
    raise InputError(f"no port from {port} on is free here: give another with --port, between 1024 and 65535")


def _opened(server: "subprocess.Popen[str]", port: int, token: str, ticket: str) -> None:
    """Wait until the server answers, then print its address."""
    from ordinate.app.door import HEALTH

    while server.poll() is None:
        there = HTTPConnection(HOST, port, timeout=1)  # whatever proxy the user has
        try:
            there.request("GET", HEALTH)
            there.getresponse()
        except (OSError, HTTPException):
            time.sleep(0.05)
            continue
        finally:
            there.close()
        address = f"http://{HOST}:{port}/?token="
        print(f"Ordinate: {address}{token}   (Ctrl-C ends it; comparisons go on)", file=sys.stderr, flush=True)
        if ticket:
            webbrowser.open(address + ticket)
        return
