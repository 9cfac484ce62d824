"""A new task is one file: dropped into the folder of tasks, it passes every test that runs over all tasks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    "tests/tasks/test_every_task.py",
    "tests/test_calibration.py",
    "tests/training/test_config.py",
    "tests/training/test_data.py",
    "tests/training/test_learned.py",
    "tests/training/test_config_limits.py",
]
PARITY = '''
"""Whether the number of ones so far is odd."""

import torch

from ordinate.core.task import Batch, Task


class Parity(Task):
    """For every bit, whether the number of ones up to it is odd: 1 0 1 1 -> 1 1 0 1."""

    family = "counting"

    def __init__(self) -> None:
        super().__init__(vocabulary=2, classes=2, needs_order=False, train_lengths=(2, 16))

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        tokens = torch.randint(2, (count, length), generator=generator)
        return Batch(tokens, tokens.cumsum(dim=1) % 2)

    def chance(self, length: int, split: str = "id") -> float:
        return 0.5

    def solve(self, tokens: list[int]) -> list[int]:
        return [sum(tokens[: t + 1]) % 2 for t in range(len(tokens))]

    def example(self) -> list[int]:
        return [1, 0, 1, 1]
'''


@pytest.mark.slow
def test_a_file_in_the_folder_of_tasks_is_all_it_takes(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "parity.py").write_text(PARITY)
    (tmp_path / "dropped.py").write_text(f"import ordinate.tasks\n\nordinate.tasks.__path__.append({str(folder)!r})\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "dropped", "-p", "no:cacheprovider", "-k", "parity", *FILES],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= 15, done.stdout[-3000:]
