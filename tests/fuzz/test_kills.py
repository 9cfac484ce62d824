"""Twenty kills; `make fuzz` makes two hundred."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_kill_changes_a_result_or_leaves_anything_behind(tmp_path: Path) -> None:
    """In a process of its own: what it forks and kills must not be this one's."""
    command = [sys.executable, "-m", "tests.fuzz.kills", "20", "7", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
