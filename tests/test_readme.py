"""The README shows only what runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_in_the_readme_runs(number: int) -> None:
    assert len(BLOCKS) >= 2
    exec(compile(BLOCKS[number], f"README block {number}", "exec"), {})


def test_the_readme_names_the_two_commands() -> None:
    assert "make demo" in README
    assert "make test" in README


def test_commands_in_the_readme_run(tmp_path: Path) -> None:
    """All in one process; runs are resolved, not trained."""
    shell = "\n".join(re.findall(r"```\n(.*?)```", README, re.DOTALL))
    lines = [line.partition("#")[0].strip() for line in shell.splitlines() if line.startswith("ordinate ")]
    assert len(lines) >= 6
    code = f"""
import shlex, sys
from ordinate.cli import main
for line in {lines!r}:
    sys.argv = shlex.split(line) + (["--dry-run"] if " train " in line else [])
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
