"""Hostile cases: no traceback, no hang, no memory exhausted. Others at every commit; thousands by `make fuzz`."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_input_ends_in_a_traceback(request: pytest.FixtureRequest) -> None:
    """In a process of its own, which has not been taught to check shapes: users' processes are not either."""
    count = 48 if request.config.getoption("sample") else 300  # four of every turn of the kinds
    start = Random(os.environ["ORDINATE_TEST_SEED"]).randrange(0, 9600, count)
    command = [sys.executable, "-m", "tests.fuzz", str(count), "--processes", "1", "--start", str(start)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count}/{count}  0 findings" in done.stdout
