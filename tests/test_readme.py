"""The README shows only what runs, and no number that no run gave."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import ordinate
from ordinate.report import summary

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
FENCED = re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
BLOCKS = [text for language, text in FENCED if language == "python"]


@pytest.mark.parametrize("number", range(max(len(BLOCKS), 1)))
def test_python_in_the_readme_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[number], f"README block {number}", "exec"), {})


def test_the_readme_names_the_two_commands() -> None:
    assert "make demo" in README
    assert "make test" in README


def test_the_version_is_the_same_everywhere() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert declared == ordinate.__version__
    assert f"version = {{{declared}}}" in README
    assert f"\nversion: {declared}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {declared} " in (ROOT / "CHANGELOG.md").read_text()


def test_it_is_a_page_and_a_half() -> None:
    assert len(README.splitlines()) <= 100
    assert len(re.findall(r"!\[", README)) == 1


def script(name: str) -> ModuleType:
    """A script of the docs, loaded without being run."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_stored_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn again from the scores that are kept beside it, it is the same, but for columns that were added since."""
    picture = script("picture")
    words = set(
        " ".join(re.findall(r">([^<]+)<", picture.PICTURE.read_text())).replace("&#160;", " ").replace(":", " ").split()
    )
    columns = [column for column in summary.COLUMNS if words.issuperset(column.title.split())]  # a title may be broken
    assert len(columns) >= 6
    monkeypatch.setattr(summary, "COLUMNS", columns)
    assert picture.draw() == picture.PICTURE.read_text(), "to draw it again: python docs/picture.py"
    assert f"]({picture.PICTURE.name})" in (ROOT / "docs" / "compare.md").read_text()
    text = re.sub(r"<[^>]+>|&#160;", " ", picture.draw())
    assert "preliminary" in text and "seeds" in text


def test_the_readme_has_no_figure_of_its_own() -> None:
    """Scores and speeds stand in the picture, which is drawn from stored results."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", README, flags=re.DOTALL)
    assert re.findall(r"\d+(?:\.\d+)? ?%|\b0\.\d+", prose) == []
