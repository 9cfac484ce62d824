"""The README shows only what runs, and no number that no run gave."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
FENCED = re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
BLOCKS = [text for language, text in FENCED if language == "python"]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_in_the_readme_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(BLOCKS) >= 2
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[number], f"README block {number}", "exec"), {})


def test_the_readme_names_the_two_commands() -> None:
    assert "make demo" in README
    assert "make test" in README


def test_commands_in_the_readme_run(tmp_path: Path) -> None:
    """All in one process, beside a small comparison and a file of results; runs are resolved, not trained."""
    shell = "\n".join(text for language, text in FENCED if not language)
    lines = [line.partition("#")[0].strip() for line in shell.splitlines() if line.startswith("ordinate ")]
    assert len(lines) >= 10
    scores = [f"{name},copy,{seed},8,id,{score}" for name, score in (("a", 1), ("b", 0.5)) for seed in range(3)]
    (tmp_path / "results.csv").write_text("\n".join(["encoding,task,seed,length,split,score", *scores]))
    code = f"""
import shlex, sys
from ordinate import compare
from ordinate.cli import main
compare("binary_majority", "rope,none", quick=True, workers=0, dim=16, layers=1, steps=2, evaluation_sequences=20)
for line in {lines!r}:
    sys.argv = shlex.split(line) + (["--dry-run"] if " train " in line or " compare " in line else [])
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "table.tex").read_text().count("toprule") > 3


def test_the_picture_shows_stored_scores() -> None:
    """Drawn again from the scores that are kept beside it, it is the same."""
    spec = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    assert spec is not None and spec.loader is not None
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    assert picture.draw() == picture.PICTURE.read_text()
    assert f"docs/{picture.PICTURE.name}" in README
    text = re.sub(r"<[^>]+>|&#160;", " ", picture.draw())
    assert "preliminary" in text and "seeds" in text


def test_the_readme_has_no_figure_of_its_own() -> None:
    """Scores and speeds stand in the picture, which is drawn from stored results."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", README, flags=re.DOTALL)
    assert re.findall(r"\d+(?:\.\d+)? ?%|\b0\.\d+", prose) == []
