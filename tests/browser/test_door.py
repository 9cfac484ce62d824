"""Attempts to use the app from elsewhere, in a browser that its user is logged in with. All settings of Streamlit that
the server could find are hostile."""

import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

from .app_server import AppServer, listens, open_page, serve
from .conftest import ARGUMENTS
from .find_chromium import find

HOSTILE = """
[server]
enableCORS = false
enableXsrfProtection = false
enableAgentApi = true
corsAllowedOrigins = ["http://evil.test"]
baseUrlPath = "elsewhere"
address = "0.0.0.0"
[browser]
gatherUsageStats = true
"""
UPGRADE = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}  # fmt: skip
APP = "[data-testid=stApp]"


@pytest.fixture(scope="module")
def proxy() -> Iterator[socket.socket]:
    """Where a request to the outside would arrive."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        yield listening


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, proxy: socket.socket) -> Iterator[AppServer]:
    folder, home = tmp_path_factory.mktemp("folder"), tmp_path_factory.mktemp("home")
    for place in (folder, home):
        (place / ".streamlit").mkdir()
        (place / ".streamlit" / "config.toml").write_text(HOSTILE)
        (place / ".streamlit" / "secrets.toml").write_text("not = [toml")
    outside = f"http://127.0.0.1:{proxy.getsockname()[1]}"
    more = {
        "HOME": str(home), "STREAMLIT_SERVER_ENABLE_CORS": "false", "STREAMLIT_SERVER_COOKIE_SECRET": "known",
        "STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION": "false", "STREAMLIT_SERVER_BASE_URL_PATH": "elsewhere",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY"), outside),
    }  # fmt: skip
    with serve(folder / "runs", tmp_path_factory.mktemp("cache"), folder, **more) as started:
        yield started


@pytest.fixture(scope="module")
def foreign() -> Iterator[str]:
    """The address of another server of this machine, whose pages are empty."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>foreign</title>")

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{other.server_port}"
        other.shutdown()


def status(server: AppServer, path: str = "/", method: str = "GET", **headers: str) -> int:
    """What the server answers to one request with the token."""
    there = HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        there.request(method, path, headers={"Cookie": server.cookie} | headers)
        return there.getresponse().status
    finally:
        there.close()


def test_the_printed_address_lets_its_user_in(browser: Browser, server: AppServer) -> None:
    page = browser.new_page()
    page.goto(server.address)
    expect(page.get_by_text("Refused: open the address")).to_be_visible()
    page.goto(f"{server.address}/?token={server.token}")
    expect(page.locator(APP)).to_be_attached()
    expect(page.locator("h1").first).to_be_visible()
    assert "token" not in page.url
    page.goto(f"{server.address}/runs")  # from now on without the token
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.close()


def test_an_infinite_number_in_the_address_is_a_sentence(browser: Browser, server: AppServer) -> None:
    page = open_page(browser, server.address)
    page.goto(f"{server.address}/?task=k_back&steps=1e999")
    expect(page.get_by_text("The address requests steps=1e999, which is not a finite number")).to_be_visible()
    page.close()
    assert "OverflowError" not in server.log.read_text()


def test_a_name_that_is_mapped_to_this_machine_is_refused(server: AppServer, browser: Browser) -> None:
    """DNS rebinding: the page's own name leads to 127.0.0.1."""
    rules = "--host-resolver-rules=MAP evil.test 127.0.0.1"
    started = browser.browser_type.launch(executable_path=find(), args=[*ARGUMENTS, rules])
    try:
        page = started.new_page()
        for target in ("/", f"/?token={server.token}", "/_stcore/health"):
            answer = page.goto(f"http://evil.test:{server.port}{target}")
            assert answer is not None and answer.status == 403
            expect(page.get_by_text("Refused: the app answers at")).to_be_visible()
            assert page.locator(APP).count() == 0
    finally:
        started.close()


def test_it_cannot_be_framed_or_called_by_a_foreign_page(server: AppServer, browser: Browser, foreign: str) -> None:
    page = open_page(browser, server.address)
    page.goto(foreign)
    page.evaluate(
        """address => new Promise(done => {
            const frame = document.createElement("iframe")
            frame.onload = done
            frame.src = address
            document.body.append(frame)
        })""",
        server.address,
    )
    assert all(frame.locator(APP).count() == 0 for frame in page.frames)
    assert page.frames[1].url.startswith("chrome-error:")
    stream = server.address.replace("http", "ws", 1) + "/_stcore/stream"
    opened = """address => new Promise(done => {
        const stream = new WebSocket(address)
        stream.onopen = () => done(true)
        stream.onerror = () => done(false)
    })"""
    assert page.evaluate(opened, stream) is False
    fetched = "address => fetch(address, {credentials: 'include'}).then(() => true, () => false)"
    assert page.evaluate(fetched, f"{server.address}/_stcore/host-config") is False
    page.goto(server.address)
    expect(page.locator(APP)).to_be_attached()
    assert page.evaluate(opened, stream) is True  # which the app's own page may
    page.close()


@pytest.mark.parametrize("origin", ["http://evil.test", "http://127.0.0.1:1", "null", "http://localhost:{port}"])
def test_a_foreign_origin_is_refused_without_looking_up_an_address(
    server: AppServer, proxy: socket.socket, origin: str
) -> None:
    headers = {"Origin": origin.format(port=server.port)}
    assert status(server, "/_stcore/stream", **UPGRADE, **headers) == 403
    assert status(server, "/_stcore/host-config", **headers) == 403
    assert status(server, "/_stcore/upload_file/a/b", "PUT", **headers) == 403
    assert status(server, "/_stcore/stream", **UPGRADE, Origin=server.address) == 101
    with pytest.raises(BlockingIOError):  # nothing arrived
        proxy.accept()


def test_without_the_token_nothing_is_shown(server: AppServer) -> None:
    assert status(server, "/_stcore/stream", Cookie="", **UPGRADE, Origin=server.address) == 403
    for path in ("/", "/runs", "/_stcore/host-config", "/static/x.js", "/media/x"):
        assert status(server, path, Cookie="") == 403


def test_settings_of_other_apps_change_nothing(server: AppServer) -> None:
    assert status(server) == 200 and status(server, "/elsewhere/_stcore/host-config") != 200
    assert status(server, "/_stcore/agent/interact", "POST") == 403  # off
    assert status(server, "/_stcore/upload_file/a/b", "PUT") == 403  # no XSRF cookie
    there = socket.gethostbyname(socket.gethostname())
    if not there.startswith("127."):
        with socket.socket() as outside:
            assert outside.connect_ex((there, server.port)) != 0


def test_a_server_whose_program_is_killed_ends(tmp_path: Path) -> None:
    with serve(tmp_path / "runs", tmp_path) as server:
        server.process.kill()
        server.process.wait()
        for _ in range(1200):
            if not listens(server.port):
                break
            time.sleep(0.05)
        assert not listens(server.port)
