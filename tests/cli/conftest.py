"""The program in processes of its own, without loading torch for each."""

import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ordinate.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left on the screen."""

    code: int
    out: str
    err: str


Program = Callable[..., Done]

# Loads all it needs once, with a first comparison and its report, and forks for every command: its arguments, folder,
# largest file size, and whether it runs without the right of root to read and write everything.
SERVER = """
import ctypes, json, os, resource, sys, tempfile, traceback
from ordinate import compare, report
from ordinate.cli import main
from ordinate.training import baselines
baselines.SEQUENCES = 1000
with tempfile.TemporaryDirectory() as folder:
    tiny = dict(dim=8, heads=2, layers=1, steps=1, batch=2, evaluation_sequences=20)
    report.write(compare('binary_majority', 'rope,none', quick=True, workers=0, store=folder, **tiny), folder)
for line in sys.stdin:
    arguments, folder, largest, ordinary = json.loads(line)
    process = os.fork()
    if not process:
        os.chdir(folder)
        for number, name in ((1, 'out'), (2, 'err')):
            os.dup2(os.open(name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
        if ordinary:
            version = (ctypes.c_uint32 * 2)(0x20080522, 0)
            assert ctypes.CDLL(None).capset(version, (ctypes.c_uint32 * 6)()) == 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        sys.argv, code = ['ordinate', *arguments], 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        os._exit(code or 0)  # unloading torch takes a second
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""
UNLIMITED = resource.RLIM_INFINITY


@pytest.fixture(scope="session")
def server() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def ordinate(server: "subprocess.Popen[str]", tmp_path: Path) -> Program:
    """The program in a process of its own, started in the test's folder."""

    def run(*arguments: str, largest: int = UNLIMITED, ordinary: bool = False) -> Done:
        assert server.stdin is not None and server.stdout is not None
        print(json.dumps([arguments, str(tmp_path), largest, ordinary]), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        return Done(code, (tmp_path / "out").read_text(errors="replace"), (tmp_path / "err").read_text())

    return run


class Forked:
    """The program as a child of this process, which has loaded torch: its standard error can be read as it comes."""

    def __init__(self, *arguments: str) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(writing, 2)
                sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
                sys.argv = ["ordinate", *arguments]
                warnings.resetwarnings()  # a warning that pytest turns into an error is only a line here
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            finally:
                os._exit(code)
        os.close(writing)
        self.stderr = os.fdopen(reading)

    def wait(self) -> int:
        """The exit code, or the negative number of the signal that ended it."""
        with self.stderr:
            self.stderr.read()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "runs")
