"""The README shows only what runs."""

import re
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
