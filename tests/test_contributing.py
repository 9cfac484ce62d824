"""What CONTRIBUTING.md and docs/add-a-task.md show is added as they say, and works; its encoding in
test_add_an_encoding.py, its first task in tasks/test_new_task.py."""

import json
import os
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ordinate import compare, tasks
from ordinate.core.seeds import generator
from ordinate.studies import study_file
from ordinate.training import baselines

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
TASKS = (ROOT / "docs" / "add-a-task.md").read_text()


def code(text: str, containing: str, language: str = "python") -> str:
    (found,) = (b for b in re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE) if containing in b)
    return str(found)


def test_its_study_is_planned(tmp_path: Path) -> None:
    text = code(TEXT, "[[parts]]", "toml")
    (tmp_path / "slope.toml").write_text(text)
    study = study_file.load(tmp_path / "slope.toml")
    assert study.title == tomllib.loads(text)["title"]
    (part,) = study.parts
    assert len(part.encodings) == 2 and part.study.seeds == 6
    assert study.claims[0].learns == ("alibi",)


@pytest.mark.slow
def test_its_lesson_passes_the_tests_of_lessons(tmp_path: Path) -> None:
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "slopes.py").write_text(code(TEXT, "LESSON ="))
    added = f"import ordinate.lessons\n\nordinate.lessons.__path__.append({str(tmp_path / 'lessons')!r})\n"
    (tmp_path / "dropped.py").write_text(added)
    environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "ORDINATE_UNCHECKED": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "dropped", "-p", "no:xdist", "-o", "addopts="]
    done = subprocess.run(
        [*command, "-k", "slopes or in_order", "tests/lessons/test_every_lesson.py"],
        cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= 8, done.stdout[-3000:]


@pytest.fixture
def labeled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that reads a file, and a file whose labels are first items."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "labeled.py").write_text(code(TASKS, "class Labeled"))
    source = random.Random(0)
    rows = [[source.randrange(3) for _ in range(length)] for length in (6, 8, 16) for _ in range(150)]
    lines = [json.dumps({"tokens": row, "label": row[0]}) for row in rows]
    (tmp_path / "labeled.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(tmp_path / "tasks")])


def test_a_task_from_a_file_is_trained_and_scored(labeled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    task = tasks.create("labeled")
    drawn = {split: task.sample(200, 8, generator(0, split), split) for split in ("train", "id")}
    assert not {tuple(row) for row in drawn["train"].tokens.tolist()} & {tuple(r) for r in drawn["id"].tokens.tolist()}
    for tokens, target in zip(drawn["id"].tokens.tolist(), drawn["id"].targets.tolist(), strict=True):
        assert task.solve(tokens) == [target] == [tokens[0]]
    monkeypatch.setattr(baselines, "SEQUENCES", 200)
    settings = dict(dim=16, layers=1, steps=2, evaluation_sequences=20, train_lengths=[8, 8], ood_lengths=[16])
    found = compare("labeled", "rope,none", quick=True, workers=0, store="runs", **settings)
    assert "labeled" in str(found)
