"""Who may use the app: the user who started it, in a browser that shows the app itself.

A server on 127.0.0.1 can be reached by any page that the browser shows, be it through a name that its owner's name
server maps to 127.0.0.1, a WebSocket or a frame, and by every user of the machine. Therefore each request must name the
app's own host, must not come from a page of another origin, and must carry the token of the address that `ordinate app`
prints, which the browser then keeps as a cookie.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from ordinate.store.examples import cache_folder
from ordinate.store.files import read_bytes, write_atomic

NAMES = ("127.0.0.1", "localhost")
HEALTH = "/_stcore/health"  # answered without the token: that a server is there is no secret
KEPT = 30 * 86_400  # seconds that a browser keeps the token
HEADERS = {
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",  # nor may pages of other local servers embed a file of the app
}
_SHORTEST = 32  # characters of a token


class Door:
    """ASGI middleware that refuses foreign requests and WebSockets before the app sees them."""

    def __init__(self, app: ASGIApp, port: int, token: str, tickets: Iterable[str] = ()) -> None:
        self.app, self.token, self.cookie = app, token, f"ordinate-{port}"
        self.tickets = set(tickets)  # each is good for the token once
        self.address = f"{NAMES[0]}:{port}"
        self.hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = None if scope["type"] == "lifespan" else self._answer(HTTPConnection(scope))
        if answer is None:
            await self.app(scope, receive, send_with_headers)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008)(scope, receive, send)
        else:
            await answer(scope, receive, send_with_headers)

    def _answer(self, request: HTTPConnection) -> Response | None:
        """What a request gets instead of the app; None if it may pass."""
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return _refusal(f"the app answers at http://{self.address} only")
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return _refusal("a page of another origin may not use the app")
        known = self._is_token(request.cookies.get(self.cookie, ""))
        if "token" in request.query_params and (known or self._takes(request.query_params["token"])):
            return self._admit(request)
        if known or request.url.path == HEALTH:
            return None
        return _refusal("open the address that `ordinate app` printed, with its token, once in this browser")

    def _takes(self, given: str) -> bool:
        if given in self.tickets:
            self.tickets.remove(given)
            return True
        return self._is_token(given)

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), self.token.encode())

    def _admit(self, request: HTTPConnection) -> Response:
        """The same address without the token, which the browser keeps."""
        view = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        path = "/" + request.url.path.lstrip("/")  # two slashes would lead to another host
        answer = RedirectResponse(f"{path}?{urlencode(view)}" if view else path, status_code=303)
        answer.set_cookie(self.cookie, self.token, max_age=KEPT, httponly=True, samesite="strict")
        return answer


def _refusal(sentence: str) -> Response:
    return PlainTextResponse(f"Refused: {sentence}.\n", status_code=403)


def own_token() -> str:
    """The user's token, from a file that nobody else can read: a bookmark and an open tab stay valid when the app
    starts again. Where it cannot be kept, it lasts until the app ends."""
    token = token_urlsafe(_SHORTEST)
    with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: the home directory of this user is unknown
        path = cache_folder() / "token"
        path.parent.mkdir(parents=True, exist_ok=True)
        if kept := _kept(path):
            return kept
        write_atomic(path, token.encode() + b"\n", mode=0o600)
    return token


def _kept(path: Path) -> str:
    """What the file holds, if it is the user's alone; otherwise nothing."""
    try:
        kept, own = read_bytes(path, most=1000).decode().strip(), path.lstat()
    except (OSError, ValueError):
        return ""
    return kept if len(kept) >= _SHORTEST and own.st_uid == os.getuid() and not own.st_mode & 0o077 else ""
