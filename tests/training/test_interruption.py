"""Signals: the first asks for a stop, the second ends the process, whatever it is doing."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable

import pytest

from ordinate.training import interruption
from ordinate.training.interruption import StopCallback, stop_requested


def _forked(work: Callable[[StopCallback], None]) -> tuple[int, int]:
    """A child that does this with its standard error in a pipe; its pid and the pipe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(writing, 2)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - of pytest before
        with stop_requested(lambda sentence: os.write(2, sentence.encode() + b"\n") and None) as stop:
            try:
                os.write(2, b"ready\n")
                work(stop)
            except KeyboardInterrupt:
                os._exit(7)
        os._exit(1)
    os.close(writing)
    return pid, reading


def _line(pipe: int) -> str:
    """Up to its end, or what there is if the child has ended."""
    text = b""
    while not text.endswith(b"\n") and (letter := os.read(pipe, 1)):
        text += letter
    return text.decode()


def _wait_for_ever(stop: StopCallback) -> None:
    """In C, where no handler of Python runs: a mutex that is locked twice."""
    mutex, libc = ctypes.create_string_buffer(128), ctypes.CDLL(None)
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)


def _sleep(stop: StopCallback) -> None:
    while not stop():
        time.sleep(0.01)
    os.write(2, b"asked\n")
    while True:
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("work", "code"), [(_wait_for_ever, 130), (_sleep, 7)])
def test_a_second_signal_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, work: Callable[[StopCallback], None], code: int
) -> None:
    monkeypatch.setattr(interruption, "GRACE", 0.05 if code == 130 else 60.0)
    pid, pipe = _forked(work)
    assert _line(pipe) == "ready\n"
    os.kill(pid, number)
    # Two signals that come before Python handles the first are one to it, so a child that can says when it has.
    said = [_line(pipe) for _ in range(1 if code == 130 else 2)]
    assert any("a second signal ends at once" in line for line in said)
    assert code == 130 or "asked\n" in said
    os.kill(pid, number)
    if code == 130:
        assert "ended by a second signal" in _line(pipe)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    os.close(pipe)


def test_one_signal_asks_and_all_is_as_before() -> None:
    before = [signal.getsignal(number) for number in interruption.SIGNALS]
    with stop_requested() as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()
    assert [signal.getsignal(number) for number in interruption.SIGNALS] == before
    assert signal.set_wakeup_fd(-1) == -1
