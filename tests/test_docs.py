"""The pages of the documentation show only what runs."""

import inspect
import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import torch

from ordinate.cli import lm
from ordinate.core.config import build, to_dict
from ordinate.lm.evaluation.config import EvalConfig
from ordinate.store.examples import open_examples
from ordinate.training import baselines

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = {page.name: re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE) for page in PAGES}


def test_there_is_code_to_run() -> None:
    assert len(CODE["transformers.md"]) >= 3


@pytest.mark.parametrize("page", [name for name, blocks in CODE.items() if blocks])
def test_python_on_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom: a block may use what one above it made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(baselines, "SEQUENCES", 1000)
    names: dict[str, object] = {}
    for number, block in enumerate(CODE[page]):
        try:
            exec(compile(block, f"{page} block {number}", "exec"), names)
        finally:
            torch.set_default_dtype(torch.float32)


def test_errors_are_those_that_were_simulated() -> None:
    errors = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "errors.py"))
    (table,) = errors["TABLE"].findall(errors["PAGE"].read_text())
    assert table == errors["rows"](json.loads(errors["RATES"].read_text())), "to write the table: python docs/errors.py"


def test_alarms_are_described_as_their_classes_describe_them() -> None:
    """An alarm that was added since the table was written is not in it yet."""
    alarms = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "alarms.py"))
    (table,) = alarms["TABLE"].findall(alarms["PAGE"].read_text())
    described = table.splitlines(keepends=True)
    assert len(described) >= 14
    assert set(described) <= set(alarms["rows"]().values()), "to write the table again: python docs/alarms.py"


def test_words_are_those_of_reports() -> None:
    words = runpy.run_path(str(ROOT / "docs" / "words.py"))
    assert words["PAGE"].read_text() == words["page"](), "to write the page again: python docs/words.py"


def test_results_and_findings_are_those_that_ship() -> None:
    made = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "results.py"))
    for path, text in made["documents"]([open_examples()]).items():
        assert path.read_text(encoding="utf-8") == text, f"to write {path.name} again: python docs/results.py"


def test_the_documented_evaluation_is_the_default_one() -> None:
    page = (Path(__file__).parents[1] / "docs" / "language-models.md").read_text()
    (block,) = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    settings = tomllib.loads(block)
    assert build(EvalConfig, settings) == EvalConfig()
    default = to_dict(EvalConfig())
    assert settings.keys() == default.keys()
    assert all(settings[part].keys() == default[part].keys() for part in default if isinstance(default[part], dict))


def test_commands_about_language_models_are_of_the_program() -> None:
    """Every command and option of the page exists."""
    page = (Path(__file__).parents[1] / "docs" / "language-models.md").read_text()
    lines = re.findall(r"^ordinate lm (\w+)(.*)$", page, re.MULTILINE)
    commands = {command.name: command for command in lm.app.registered_commands}
    assert len(lines) >= 15
    for name, rest in lines:
        known = str(inspect.signature(commands[name].callback)) if commands[name].callback else ""
        for option in re.findall(r"--([a-z-]+)", rest.partition("#")[0]):
            assert option.replace("-", "_") in known or f"'--{option}'" in known, f"lm {name} --{option}"
