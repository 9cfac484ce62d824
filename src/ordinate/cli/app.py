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

from typer import Option

from ordinate.cli.options import RUNS, StoreFolder
from ordinate.core.errors import InputError

HOST = "127.0.0.1"
# No file watcher, which fails on torch; no usage statistics; result files of up to 200 MB.
OPTIONS = {
    "server.address": HOST, "server.headless": "true", "server.fileWatcherType": "none",
    "server.maxUploadSize": "200", "browser.gatherUsageStats": "false", "client.toolbarMode": "minimal",
    "client.showErrorDetails": "type", "logger.level": "warning", "theme.light.primaryColor": "#0072B2",
    "theme.dark.primaryColor": "#56B4E9",
}  # fmt: skip


def run(
    store: StoreFolder = RUNS,
    port: int = Option(8501, help="Port of the app; if it is taken, the next free one."),
    browser: bool = Option(True, "--browser/--no-browser", help="Open the app in a browser."),
) -> None:
    """Open the app in a browser. It is served to this machine only (127.0.0.1); Ctrl-C stops it.

    Comparisons started in the app continue when it stops, and are shown again at its next start.
    """
    from ordinate.app.stores import STORE
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
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # ends the server too
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
    """Wait until the server answers, then print its address."""
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
