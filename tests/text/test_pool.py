"""Processes that end when they should."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys, time
from ordinate.core.errors import InputError
from ordinate.text.pool import carry_out

def wait(advance):
    with open("part", "w") as file:
        file.write(str(os.getpid()))
    os.replace("part", "worker")
    time.sleep(1e6)

def die(advance):
    os.kill(os.getpid(), signal.SIGKILL)

def fail(advance):
    raise InputError("one sentence")

def count(advance):
    advance(3)

if __name__ == "__main__":
    seen = []
    try:
        carry_out([globals()[name] for name in sys.argv[1:]], processes=1, threads=1, watch=seen.append)
        print(sum(seen))
    except InputError as error:
        print(error)
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    Path("program.py").write_text(PROGRAM)
    return [sys.executable, "program.py"]


def test_a_worker_ends_with_its_parent(command: list[str]) -> None:
    with subprocess.Popen([*command, "wait"]) as parent:
        while not Path("worker").exists():
            assert parent.poll() is None
            time.sleep(0.02)
        parent.kill()
    worker = int(Path("worker").read_text())
    while _alive(worker):
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    """A zombie does not count as alive."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (("count", "count"), "6"),
        (("fail", "count"), "one sentence"),
        (("die",), "a worker was killed, perhaps because"),
    ],
)
def test_what_happens_to_a_worker_is_reported(command: list[str], work: tuple[str, ...], message: str) -> None:
    done = subprocess.run([*command, *work], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(message) and len(done.stdout.splitlines()) == 1
