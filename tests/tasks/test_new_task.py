"""A new task is one file: that of docs/add-a-task.md, in the folder of tasks, passes every test that all tasks pass."""

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
PAGE = (ROOT / "docs" / "add-a-task.md").read_text()
(PARITY,) = re.findall(r"^```python\n([^`]*class Parity.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


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
