"""The Hugging Face Hub, as much of it as a dataset needs, on this machine; it can fail on demand."""

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
Fault = Literal["500", "truncated", "wrong bytes", "wrong length"]


class Hub(ThreadingHTTPServer):
    """Files of one dataset, and what goes wrong with the next downloads."""

    daemon_threads = True

    def __init__(self, dataset: str, files: dict[str, bytes], faults: list[Fault]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.dataset, self.files, self.faults = dataset, files, deque(faults)
        self.seen: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(dataset: str, files: dict[str, bytes], faults: list[Fault]) -> Iterator[Hub]:
    with Hub(dataset, files, faults) as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.seen.append(f"{self.command} {path}")
        api, resolve = f"/api/datasets/{self.server.dataset}", f"/datasets/{self.server.dataset}/resolve/"
        if path.startswith(f"{api}/revision/") and path.endswith(("/main", COMMIT)):
            self._json({"id": self.server.dataset, "sha": COMMIT, "siblings": [], "tags": [], "private": False})
        elif path.startswith(f"{api}/tree/{COMMIT}"):
            folder = path.removeprefix(f"{api}/tree/{COMMIT}").strip("/")
            self._json([_entry(*item) for item in self.server.files.items() if item[0].startswith(folder)])
        elif path.startswith(resolve) and path.removeprefix(resolve).partition("/")[2] in self.server.files:
            self._file(self.server.files[path.removeprefix(resolve).partition("/")[2]])
        else:
            self._send(404, b"", {"X-Error-Code": "RevisionNotFound" if "/revision/" in path else "EntryNotFound"})

    def _json(self, content: object) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _file(self, content: bytes) -> None:
        headers = {"ETag": f'"{sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if self.command == "HEAD":
            self._send(200, content, headers)
            return
        fault = self.server.faults.popleft() if self.server.faults else None
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        part = content[start:]
        if fault == "500":
            self._send(500, b"", {})
        elif fault == "wrong length":
            self._send(200, part[: len(part) // 2], headers)
        elif fault == "wrong bytes":
            self._send(200, bytes(len(part)), headers)
        else:
            self._send(206 if start else 200, part, headers, cut=fault == "truncated")

    def _send(self, status: int, body: bytes, headers: dict[str, str], cut: bool = False) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        """Nothing on the screen of tests."""


def _entry(path: str, content: bytes) -> dict[str, object]:
    digest = sha256(content).hexdigest()
    lfs = {"oid": digest, "size": len(content), "pointerSize": 130}
    return {"type": "file", "path": path, "size": len(content), "oid": digest[:40], "lfs": lfs}
