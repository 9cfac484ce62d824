"""Which requests reach the app: those of its own pages, with the user's token."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ordinate.app.door import HEADERS, Door, own_token

HOST, TOKEN, TICKET = "127.0.0.1:8501", "t" * 43, "once"
ADMITTED = f"ordinate-8501={TOKEN}"
Messages = list[dict[str, Any]]


class Inside:
    """The app behind the door, and what reached it."""

    def __init__(self) -> None:
        self.reached = 0
        self.door = Door(self.answer, 8501, TOKEN, [TICKET])

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached += 1
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"the app"})
        else:
            await send({"type": "websocket.accept"})

    def ask(self, kind: str = "http", target: str = "/", **headers: str | list[str]) -> Messages:
        """Send one request; the answer as ASGI messages."""
        sent: Messages = []
        fields = {"host": HOST, "cookie": ADMITTED} | headers
        lines = [
            (name.encode(), value.encode())
            for name, values in fields.items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        path, query = urlsplit(target).path, urlsplit(target).query.encode()
        scope = {
            "type": kind, "method": "GET", "scheme": "http", "path": path, "query_string": query, "root_path": "",
            "headers": lines, "server": ("127.0.0.1", 8501),
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(dict(message))

        with ThreadPoolExecutor(1) as pool:  # the loop of a browser may run in this thread
            pool.submit(asyncio.run, self.door(scope, receive, send)).result()
        return sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("host", [HOST, "localhost:8501", "LocalHost:8501"])
def test_the_apps_own_pages_pass(kind: str, host: str) -> None:
    inside = Inside()
    inside.ask(kind, host=host, origin=f"http://{host}")
    inside.ask(kind, host=host)
    assert inside.reached == 2


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "foreign",
    [
        {"host": "evil.test:8501"}, {"host": "evil.test:8501", "origin": "http://evil.test:8501"},
        {"host": "127.0.0.1"}, {"host": "localhost"},
        {"host": "127.0.0.1:8502"}, {"host": "127.0.0.1.evil.test:8501"}, {"host": "user@127.0.0.1:8501"}, {"host": ""},
        {"host": []}, {"host": [HOST, "evil.test"]}, {"host": "0.0.0.0:8501"}, {"host": "[::1]:8501"},
        {"origin": "http://evil.test"}, {"origin": "http://127.0.0.1:3000"}, {"origin": "http://localhost:8501"},
        {"origin": "null"}, {"origin": f"https://{HOST}"}, {"origin": f"http://{HOST}.evil.test"}, {"origin": ""},
        {"origin": [f"http://{HOST}", "http://evil.test"]},
        {"cookie": ""}, {"cookie": "ordinate-8501="}, {"cookie": f"ordinate-8501={TOKEN[:-1]}"},
        {"cookie": f"ordinate-8501={TICKET}"}, {"cookie": f"other={TOKEN}"},
    ],
)  # fmt: skip
def test_others_do_not_reach_the_app(kind: str, foreign: dict[str, str | list[str]]) -> None:
    inside = Inside()
    first = inside.ask(kind, **foreign)[0]
    assert inside.reached == 0
    assert first.get("status") == 403 if kind == "http" else first["type"] == "websocket.close"


@pytest.mark.parametrize("target", ["/", "/?token=wrong", f"/?token={TOKEN}"])
@pytest.mark.parametrize("cookie", ["", ADMITTED])
def test_no_answer_may_be_framed(target: str, cookie: str) -> None:
    headers = dict(Inside().ask(target=target, cookie=cookie)[0]["headers"])
    assert {name.lower().encode(): value.encode() for name, value in HEADERS.items()}.items() <= headers.items()
    assert headers[b"x-frame-options"] == b"DENY" and headers[b"content-security-policy"] == b"frame-ancestors 'none'"


def test_the_token_becomes_a_cookie_and_leaves_the_address() -> None:
    inside = Inside()
    answer = inside.ask(target=f"/runs?task=k_back&token={TOKEN}&a=1&a=2", cookie="")[0]
    headers = dict(answer["headers"])
    assert (answer["status"], headers[b"location"]) == (303, b"/runs?task=k_back&a=1&a=2")
    assert headers[b"set-cookie"].startswith(ADMITTED.encode())
    assert {b"HttpOnly", b"SameSite=strict"} <= set(headers[b"set-cookie"].split(b"; "))
    assert inside.reached == 0


def test_no_address_leads_to_another_host() -> None:
    headers = dict(Inside().ask(target=f"////evil.test/x?token={TOKEN}")[0]["headers"])
    assert not headers[b"location"].startswith(b"//")


def test_a_ticket_is_good_once() -> None:
    inside = Inside()
    assert inside.ask(target=f"/?token={TICKET}", cookie="")[0]["status"] == 303
    assert inside.ask(target=f"/?token={TICKET}", cookie="")[0]["status"] == 403
    assert inside.ask(target=f"/?token={TICKET}")[0]["status"] == 303  # who is inside may open the address again


def test_health_needs_the_right_host_and_no_token() -> None:
    inside = Inside()
    assert inside.ask(target="/_stcore/health", cookie="")[0]["status"] == 200
    assert inside.ask(target="/_stcore/health", cookie="", host="evil.test")[0]["status"] == 403


def test_the_token_is_the_users_alone_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    token, path = own_token(), tmp_path / "ordinate" / "token"
    assert len(token) >= 32 and own_token() == token and path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)  # someone may have read it
    assert (other := own_token()) != token and own_token() == other
    path.write_text("short\n")
    assert len(own_token()) >= 32


def test_a_token_that_cannot_be_kept_is_new_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert own_token() != own_token()
