"""Processes that end when they should."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ordinate.core.errors import InputError
from ordinate.text.pool import Advance, carry_out

PARENT = """
import sys
from tests.text.test_pool import Wait
from ordinate.text.pool import carry_out

if __name__ == "__main__":
    carry_out([Wait(sys.argv[1])], processes=1, threads=1, watch=print)
"""


class Wait:
    """Says which process it is in, and goes on for ever."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, advance: Advance) -> None:
        Path(self.path).with_suffix(".part").write_text(str(os.getpid()))
        os.replace(Path(self.path).with_suffix(".part"), self.path)
        while True:
            time.sleep(60)


def _killed(advance: Advance) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _failing(advance: Advance) -> None:
    advance(3)
    raise InputError("one sentence")


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    with subprocess.Popen(
        [sys.executable, "parent.py", "worker"], cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}
    ) as parent:
        while not (tmp_path / "worker").exists():
            assert parent.poll() is None
            time.sleep(0.02)
        parent.kill()
    worker = int((tmp_path / "worker").read_text())
    while _alive(worker):
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    """A zombie that nobody waits for is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_what_happens_to_a_worker_is_told() -> None:
    seen: list[int] = []
    with pytest.raises(InputError, match="one sentence"):
        carry_out([_failing], processes=1, threads=1, watch=seen.append)
    with pytest.raises(InputError, match="a worker was killed, .* fewer --workers"):
        carry_out([_killed], processes=1, threads=1, watch=seen.append)
