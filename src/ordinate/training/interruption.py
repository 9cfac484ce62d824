"""Stopping training after the step under way."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

StopCallback = Callable[[], bool]


class Interrupted(KeyboardInterrupt):
    """Training was stopped between two steps, after a checkpoint was written."""


def never() -> bool:
    """No stop is ever requested."""
    return False


@contextmanager
def stop_requested() -> Iterator[StopCallback]:
    """SIGTERM or Ctrl-C requests a stop after the step under way; a second one stops at once."""
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested.is_set
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if requested.is_set():
            raise KeyboardInterrupt
        requested.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield requested.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
