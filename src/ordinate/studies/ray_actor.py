"""What runs on the nodes of a Ray cluster.

It is sent to them as source, not by name, so that a node without this program, or with another version of it, can say
so. At the top it therefore imports nothing but the standard library.
"""

import hashlib
import queue
import sys
import threading
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

LISTEN = 0.25  # seconds between two answers to the driver while a run goes on


class RunActor:
    """A process that does one run after the other, and keeps what it has to say until the driver listens."""

    def __init__(self, store: str, path: list[str]) -> None:
        set_path(path)
        import ordinate.training  # noqa: F401 - before it is ready, because loading torch takes seconds

        self.store, self.messages = Path(store), queue.SimpleQueue[dict[str, Any]]()
        self.ended = threading.Event()
        self.say(kind="ready")

    def work(self, config: dict[str, Any]) -> None:
        """Do a run, while another thread listens."""
        from ordinate.studies.worker import work

        work(config, self.store, self.say)

    def say(self, **message: Any) -> None:
        self.messages.put(message)
        if message["kind"] != "progress":
            self.ended.set()

    def listen(self) -> list[dict[str, Any]]:
        """Messages since the last call, at once if a run has ended, else after a moment; the latest progress alone."""
        self.ended.wait(LISTEN)
        self.ended.clear()
        heard: list[dict[str, Any]] = []
        while not self.messages.empty():
            message = self.messages.get()
            if heard and heard[-1]["kind"] == message["kind"] == "progress":
                heard.pop()
            heard.append(message)
        return heard


def inspect_node(probe: str, path: list[str]) -> dict[str, str]:
    """What is installed on this node, and what a file of the store holds here; empty where there is nothing."""
    set_path(path)
    found = {"Python": sys.version.split()[0], "torch": "", "ordinate": "", "store": ""}
    with suppress(ImportError):  # also a distribution that is not installed
        found["torch"] = metadata.version("torch").partition("+")[0]  # whatever it is built for
        import ordinate

        files = sorted(Path(ordinate.__path__[0]).rglob("*.py"))
        source = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
        found["ordinate"] = f"{ordinate.__version__} ({source[:8]})"
    with suppress(OSError):
        found["store"] = Path(probe).read_text()
    return found


def set_path(path: list[str]) -> None:
    """On the driver's machine, import what the driver imports: Ray searches the current folder first."""
    if path:
        sys.path[:] = path
