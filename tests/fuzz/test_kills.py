"""Eight kills, at other moments at every commit, or twenty; `make fuzz` makes two hundred."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_kill_changes_a_result_or_leaves_anything_behind(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """In a process of its own: what it forks and kills must not be this one's."""
    count = "8" if request.config.getoption("sample") else "20"
    seed = Random(os.environ["ORDINATE_TEST_SEED"]).randrange(1000)
    command = [sys.executable, "-m", "tests.fuzz.kills", count, str(seed), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
