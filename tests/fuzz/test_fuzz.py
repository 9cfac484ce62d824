"""A few hundred hostile cases: no traceback, no hang, no machine without memory. Thousands: `make fuzz`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_input_ends_in_a_traceback() -> None:
    """In a process of its own, which has not been taught to check shapes: users' processes are not either."""
    command = [sys.executable, "-m", "tests.fuzz", "300", "--processes", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300/300  0 findings" in done.stdout
