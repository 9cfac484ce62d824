"""Stopping training after the step under way."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

StopCallback = Callable[[], bool]
SIGNALS = (signal.SIGTERM, signal.SIGINT)
GRACE = 5.0  # seconds after a second signal, to remove temporary files; then the process ends


class Interrupted(KeyboardInterrupt):
    """Training was stopped between two steps, after a checkpoint was written."""


def never() -> bool:
    """No stop is ever requested."""
    return False


@contextmanager
def stop_requested(say: Callable[[str], None] = lambda sentence: None) -> Iterator[StopCallback]:
    """SIGTERM or Ctrl-C requests a stop after the step under way; a second one stops at once.

    A thread sees signals while the main thread is inside a long operation, where Python handles none, and ends the
    process if a second one has not ended it within seconds. `say` is given a sentence on what happens.
    """
    requested, ended = threading.Event(), threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested.is_set
        return
    handled = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal handled
        handled += 1
        requested.set()
        if handled > 1:
            raise KeyboardInterrupt

    def watch(pipe: int) -> None:
        if _wait_for_signal(pipe):
            say("stopping after the step under way; a second signal ends at once, without saving")
        if _wait_for_signal(pipe) and not ended.wait(GRACE):
            print("ordinate: ended by a second signal; start again to resume", file=sys.stderr, flush=True)
            os._exit(130)

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = {number: signal.signal(number, handle) for number in SIGNALS}
    woken = signal.set_wakeup_fd(writer)
    watcher = threading.Thread(target=watch, args=(reader,), daemon=True)
    watcher.start()
    try:
        yield requested.is_set
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(woken)
        os.close(writer)  # ends the watcher
        watcher.join()
        os.close(reader)


def _wait_for_signal(pipe: int) -> bool:
    """Whether one of `SIGNALS` came before the pipe was closed; others wake the pipe too."""
    while number := os.read(pipe, 1):
        if number[0] in SIGNALS:
            return True
    return False
