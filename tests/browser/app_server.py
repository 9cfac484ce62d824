"""`ordinate app` in a process of its own, and pages that its token lets in."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

# Nothing moves: without a graphics card, a processor paints what turns while a page is being drawn.
STILL = """
const still = new CSSStyleSheet();
still.replaceSync("*, *::before, *::after { animation: none !important; transition: none !important; }");
document.adoptedStyleSheets = [still];
"""
_tokens: dict[str, str] = {}  # by address


@dataclass(frozen=True)
class AppServer:
    """A server that answers."""

    process: "subprocess.Popen[bytes]"
    address: str
    token: str
    log: Path

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 80

    @property
    def cookie(self) -> str:
        return f"ordinate-{self.port}={self.token}"


@contextmanager
def serve(store: Path, cache: Path, folder: Path | None = None, **environment: str) -> Iterator[AppServer]:
    """Start the app on a free port, on one core, so that what it starts leaves the others to whoever looks at it.

    At the end nothing listens there any more.
    """
    port = free_port()
    command = [sys.executable, "-m", "ordinate", "app", "--no-browser", "--port", str(port), "--store", str(store)]
    more = os.environ | {"XDG_CACHE_HOME": str(cache)} | environment
    log = cache / f"server-{port}.txt"
    with open(log, "w") as output:
        process = subprocess.Popen(
            command, env=more, cwd=folder, stdout=output, stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}),
        )  # fmt: skip
    try:
        while not (found := re.search(r"^Ordinate: http://127\.0\.0\.1:\d+/\?token=(\S+)", log.read_text(), re.M)):
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        server = AppServer(process, f"http://127.0.0.1:{port}", found[1], log)
        _tokens[server.address] = server.token
        yield server
    finally:
        process.terminate()
        process.wait()
    assert not listens(port)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as there:
        return there.connect_ex(("127.0.0.1", port)) == 0


def open_page(browser: Browser, address: str, width: int = 1400) -> Page:
    """A new page that has the app's token, as if its printed address had been opened before."""
    page = browser.new_page(viewport={"width": width, "height": 1400})
    page.add_init_script(STILL)
    name = f"ordinate-{urlsplit(address).port}"
    page.context.add_cookies([{"name": name, "value": _tokens[address], "url": address, "sameSite": "Strict"}])
    return page
