"""Runs a student's code in a process of its own, with a time limit: an endless loop ends there, and a server goes on.

It is the code of the person in front of this machine, who may run it anyway: the process protects from mistakes.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from types import FrameType

from ordinate.teaching.check_code import Checked, check_code

SECONDS = 10  # for the code itself
START_SECONDS = 120  # for Python and torch to load on a busy machine


def run(lesson: str, exercise: str, code: str, seconds: float = SECONDS) -> Checked:
    """Check code for an exercise of a lesson."""
    job = json.dumps({"lesson": lesson, "exercise": exercise, "code": code, "seconds": seconds})
    command = [sys.executable, "-m", __name__]
    with tempfile.TemporaryDirectory(prefix="ordinate-") as folder:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
        try:
            answer, errors = process.communicate(job, timeout=START_SECONDS + seconds)
        except subprocess.TimeoutExpired:
            return Checked(False, _late(seconds))
        finally:
            _end(process)
    try:
        return Checked(**json.loads(answer))
    except (ValueError, TypeError):
        last = errors.strip().splitlines()[-1:] or ["it said nothing"]
        return Checked(False, f"The process that ran your code ended with code {process.returncode}: {last[0]}")


def _end(process: "subprocess.Popen[str]") -> None:
    """The process and whatever it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _late(seconds: float) -> str:
    return f"Your code did not end within {seconds:g} seconds: is there a loop that never ends?"


class _TimeIsUp(BaseException):
    """Not an Exception: a student's `except Exception` must not catch it."""


def _serve() -> None:
    """In the process: the job comes by stdin, the answer leaves by stdout, where nothing else may be written."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from ordinate import lessons
    from ordinate.teaching.lesson import Exercise

    job = json.loads(sys.stdin.read())
    exercise = lessons.get(job["lesson"]).block(Exercise, job["exercise"])

    def late(number: int, frame: FrameType | None) -> None:
        raise _TimeIsUp

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, job["seconds"])
    try:
        checked = check_code(exercise, job["code"])
    except _TimeIsUp:
        checked = Checked(False, _late(job["seconds"]))
    except SystemExit:
        checked = Checked(False, "Your code ended the process itself: leave out exit().")
    signal.setitimer(signal.ITIMER_REAL, 0)
    json.dump(checked.__dict__, answer)
    answer.close()


if __name__ == "__main__":
    _serve()
