"""`torch.compile` without a graph break, and `torch.export`, for every encoding."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_encoding_compiles_whole_and_exports() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.compile_all"],
        cwd=ROOT, env=os.environ | {"ORDINATE_UNCHECKED": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found
    assert {name: problems for name, problems in found.items() if problems} == {}
