"""The program in processes of its own, without loading torch for each."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Done:
    """What a command left on the screen."""

    code: int
    out: str
    err: str


Program = Callable[..., Done]

# Loads all it needs once, with a first run, and forks for every command: its arguments, folder, largest file size, and
# whether it runs without the right of root to read and write everything.
SERVER = """
import ctypes, json, os, resource, sys, tempfile, traceback
from ordinate.cli import main
from ordinate.training import baselines
from ordinate.store import open_store
from ordinate.training import resolve, train
baselines.SEQUENCES = 1000
with tempfile.TemporaryDirectory() as folder:
    train(resolve(dict(task='binary_majority', encoding='rope', dim=8, steps=1)), open_store(folder))
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


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "runs")
