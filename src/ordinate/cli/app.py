"""`ordinate app`: the pages, in a browser."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import webbrowser
from pathlib import Path

import typer

from ordinate.cli.options import RUNS, StoreFolder

HOST = "127.0.0.1"
# No look at the files of torch, which trips over them; nothing is sent anywhere; a results file may have 200 MB.
OPTIONS = {
    "server.address": HOST, "server.headless": "true", "server.fileWatcherType": "none",
    "server.maxUploadSize": "200", "browser.gatherUsageStats": "false", "client.toolbarMode": "minimal",
    "client.showErrorDetails": "type", "logger.level": "warning", "theme.light.primaryColor": "#0072B2",
    "theme.dark.primaryColor": "#56B4E9",
}  # fmt: skip


def run(
    store: StoreFolder = RUNS,
    port: int = typer.Option(8501, "--port", help="Where the page is served; if it is taken, the next free one."),
    browser: bool = typer.Option(True, "--browser/--no-browser", help="Open the page."),
) -> None:
    """Compare, watch and understand in a browser. Serves this machine alone (127.0.0.1); Ctrl-C ends it.

    Comparisons that were started there go on when the app ends, and the app finds them again.
    """
    from ordinate.app.stores import STORE
    from ordinate.core.errors import InputError
    from ordinate.core.extras import require_extra
    from ordinate.store import open_store

    require_extra("app")
    if not 1 <= port <= 65535:
        raise InputError(f"--port must be from 1 to 65535, got {port}")
    open_store(store).check_place()
    at = _free(port)
    script = Path(__file__).parents[1] / "app" / "server.py"
    options = [word for name, value in (OPTIONS | {"server.port": str(at)}).items() for word in (f"--{name}", value)]
    environment = os.environ | {STORE: str(store)}
    server = subprocess.Popen([sys.executable, "-m", "streamlit", "run", str(script), *options], env=environment)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # and takes the server along
    try:
        _opened(server, f"http://{HOST}:{at}", browser=browser)
        server.wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.terminate()
        server.wait()


def _free(port: int) -> int:
    """The first free port from this one on."""
    from ordinate.core.errors import InputError

    for tried in range(port, min(port + 50, 65536)):
        with socket.socket() as there:
            there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                there.bind((HOST, tried))
            except (OSError, OverflowError):
                continue
        return tried
    raise InputError(f"no port from {port} on is free here: give another with --port, between 1024 and 65535")


def _opened(server: "subprocess.Popen[bytes]", address: str, *, browser: bool) -> None:
    """Wait until the server answers, and say where."""
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
        except OSError:
            time.sleep(0.05)
            continue
        print(f"Ordinate: {address}   (Ctrl-C ends it; comparisons go on)", file=sys.stderr, flush=True)
        if browser:
            webbrowser.open(address)
        return
