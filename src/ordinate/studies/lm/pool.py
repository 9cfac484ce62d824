"""Runs of language models side by side: one process and one thread for each, several drivers may share a folder."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal

from ordinate.core.config import to_dict
from ordinate.core.errors import error_text
from ordinate.lm.errors import DivergedError
from ordinate.studies.executor import StudyStopped
from ordinate.studies.lm.comparison import ModelRun
from ordinate.studies.lm.work import ModelProgress, RunEnd, Workplace, do_run
from ordinate.studies.worker_pool import DEATHS, POLL, interrupts
from ordinate.training import environment
from ordinate.training.interruption import StopCallback, stop_requested


@dataclass(frozen=True)
class RunEvent:
    """What happens to a run."""

    kind: Literal["started", "progress", "done", "failed", "elsewhere"]
    run: ModelRun
    progress: ModelProgress | None = None
    error: str = ""


Watch = Callable[[RunEvent], None]


def do_runs(runs: Sequence[ModelRun], place: Workplace, workers: int, watch: Watch) -> dict[str, str]:
    """Do all runs and return the errors of those that failed, by id. No workers: one after the other, in this process.

    Raises StudyStopped after Ctrl-C, when every run under way has saved.
    """
    if workers:
        return _Pool(place, workers, watch).go(runs)
    failures = {}
    with environment.prepared(1, place.device), stop_requested() as stop:
        for run in runs:
            watch(RunEvent("started", run))
            try:
                _do_here(run, place, watch, stop)
                watch(RunEvent("done", run))
            except KeyboardInterrupt as error:
                raise StudyStopped from error
            except (DivergedError, ValueError, OSError) as error:
                failures[run.id] = str(error) if isinstance(error, DivergedError) else error_text(error)
                watch(RunEvent("failed", run, error=failures[run.id]))
    return failures


def _do_here(run: ModelRun, place: Workplace, watch: Watch, stop: StopCallback) -> None:
    """In this process; waits while another one is at it."""

    def show(now: ModelProgress) -> None:
        watch(RunEvent("progress", run, now))

    while do_run(run, place, show, stop) is RunEnd.ELSEWHERE:
        watch(RunEvent("elsewhere", run))
        time.sleep(POLL)
        if stop():
            raise StudyStopped


@dataclass(eq=False)
class _Process:
    """A run under way."""

    run: ModelRun
    process: "subprocess.Popen[bytes]"
    errors: Any  # its standard error, a file
    rest: bytes = b""
    end: str = ""  # the last thing it said: done, failed, elsewhere or stopped
    error: str = ""

    def messages(self) -> list[dict[str, Any]] | None:
        """Since the last call; None after the last one."""
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        if not data:
            return None
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> str:
        """How its process ended."""
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.seek(0)
        last = self.errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        self.errors.close()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}: {last}" if last else how


@dataclass
class _Pool:
    """Processes that each do one run; a run that another driver is at is looked at again until it is done."""

    place: Workplace
    workers: int
    watch: Watch
    running: list[_Process] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    deaths: dict[str, int] = field(default_factory=dict)
    elsewhere: list[ModelRun] = field(default_factory=list)  # to be looked at again
    stops: int = 0

    def go(self, runs: Sequence[ModelRun]) -> dict[str, str]:
        queue, looked = deque(runs), time.monotonic()
        with self._interruptible():
            try:
                while self.running or ((queue or self.elsewhere) and not self.stops):
                    while queue and len(self.running) < self.workers and not self.stops:
                        self._start(queue.popleft())
                    self._listen(queue)
                    if self.elsewhere and time.monotonic() - looked > POLL:
                        looked = time.monotonic()
                        queue += self.elsewhere
                        self.elsewhere.clear()
            finally:
                for own in self.running:
                    own.process.kill()
                    own.close()
        if self.stops:
            raise StudyStopped
        return self.failures

    def _start(self, run: ModelRun) -> None:
        if self.place.checkpoints.find(run) is not None:  # by another driver, meanwhile
            self.watch(RunEvent("done", run))
            return
        if self.place.checkpoints.busy(run):  # with this run, or with another one of its trunk
            self.elsewhere.append(run)
            return
        more = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        more["PYTHONPATH"] = os.pathsep.join(sys.path)  # it finds what this process finds; -P: and nothing else
        job = {
            "config": to_dict(run.config), "branch": to_dict(run.branch), "evaluation": to_dict(run.evaluation),
            "root": str(self.place.root.absolute()), "data": str(self.place.corpus.folder.absolute()),
            "device": self.place.device, "threads": 1,
        }  # fmt: skip
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process lives
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ordinate.studies.lm.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=errors, env=os.environ | more, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it died just now, which the end of its output shows
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.close()
        self.running.append(_Process(run, process, errors))
        self.watch(RunEvent("started", run))

    def _listen(self, queue: "deque[ModelRun]") -> None:
        """Hear what the processes say, for a moment."""
        if not self.running:
            time.sleep(POLL / 5)
            return
        with selectors.DefaultSelector() as selector:
            for own in self.running:
                assert own.process.stdout is not None
                selector.register(own.process.stdout, selectors.EVENT_READ, own)
            heard: list[_Process] = [key.data for key, _ in selector.select(timeout=POLL)]
        for own in heard:
            messages = own.messages()
            for message in messages or ():
                self._heard(own, message)
            if messages is None:
                self.running.remove(own)
                self._ended(own, own.close(), queue)

    def _heard(self, own: _Process, message: dict[str, Any]) -> None:
        if message["kind"] == "progress":
            self.watch(RunEvent("progress", own.run, ModelProgress(message["share"], message["text"])))
        else:
            own.end, own.error = message["kind"], message.get("error", "")

    def _ended(self, own: _Process, how: str, queue: "deque[ModelRun]") -> None:
        """A process is gone. One that did not say how its run ended has died: the run is tried again, but not often."""
        run = own.run
        if own.end == "done":
            self.watch(RunEvent("done", run))
        elif own.end == "elsewhere":
            self.elsewhere.append(run)
            self.watch(RunEvent("elsewhere", run))
        elif own.end == "failed":
            self._fail(run, own.error)
        elif own.end != "stopped" and not self.stops:
            self.deaths[run.id] = self.deaths.get(run.id, 0) + 1
            if self.deaths[run.id] < DEATHS:
                queue.appendleft(run)
            else:
                self._fail(run, f"its process died {DEATHS} times ({how})")

    def _fail(self, run: ModelRun, error: str) -> None:
        self.failures[run.id] = error
        self.watch(RunEvent("failed", run, error=error))

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """One Ctrl-C makes the runs under way save and stop, a second one ends them at once."""

        def stop(number: int, frame: FrameType | None) -> None:
            self.stops += 1
            for own in self.running:
                own.process.send_signal(signal.SIGTERM if self.stops == 1 else signal.SIGKILL)

        before = interrupts(stop)
        try:
            yield
        finally:
            interrupts(before)
