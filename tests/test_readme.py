"""The README shows only what runs, and no number that no run gave."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ordinate import tasks
from ordinate.core.encoding import FAMILIES, Encoding, ExtraInput
from ordinate.report import summary
from ordinate.training import baselines

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
FENCED = re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
BLOCKS = [text for language, text in FENCED if language == "python"]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_in_the_readme_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(BLOCKS) >= 2
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(baselines, "SEQUENCES", 1000)
    exec(compile(BLOCKS[number], f"README block {number}", "exec"), {})


def test_the_readme_names_the_two_commands() -> None:
    assert "make demo" in README
    assert "make test" in README


def test_commands_in_the_readme_run(tmp_path: Path) -> None:
    """All in one process, beside a small comparison, results and a corpus; runs are resolved, not trained or timed."""
    shell = "\n".join(text for language, text in FENCED if not language)
    lines = [line.partition("#")[0].strip() for line in shell.splitlines() if line.startswith("ordinate ")]
    assert len(lines) >= 10
    scores = [f"{name},copy,{seed},8,id,{score}" for name, score in (("a", 1), ("b", 0.5)) for seed in range(3)]
    (tmp_path / "results.csv").write_text("\n".join(["encoding,task,seed,length,split,score", *scores]))
    (tmp_path / "notes").mkdir()
    for number in range(20):
        (tmp_path / "notes" / f"{number}.txt").write_text(" ".join(map(str, range(number, 1000 + number))))
    code = f"""
import shlex, sys
from ordinate import compare
from ordinate.cli import main
from ordinate.studies import cost
from ordinate.text import prepare, request
from ordinate.training import baselines
from ordinate.training.timing import Estimate
baselines.SEQUENCES, cost.estimate = 1000, lambda config: Estimate(0.001, 0.1, 100_000)
compare("binary_majority", "rope,none", quick=True, workers=0, dim=16, layers=1, steps=2, evaluation_sequences=20)
prepare(request("text:notes", vocabulary=4096, valid=0.2), "data/notes", workers=0)
for line in {lines!r}:
    long = any(command in line for command in (" train ", " compare ", " prepare", " study run "))
    sys.argv = shlex.split(line) + (["--dry-run"] if long else [])
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "table.tex").read_text().count("toprule") > 3


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
    assert f"docs/{picture.PICTURE.name}" in README
    text = re.sub(r"<[^>]+>|&#160;", " ", picture.draw())
    assert "preliminary" in text and "seeds" in text


def test_the_readme_has_no_figure_of_its_own() -> None:
    """Scores and speeds stand in the picture, which is drawn from stored results."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", README, flags=re.DOTALL)
    assert re.findall(r"\d+(?:\.\d+)? ?%|\b0\.\d+", prose) == []


def test_the_hooks_are_drawn_from_the_protocol() -> None:
    picture = script("hooks")
    assert picture.draw() == picture.PICTURE.read_text()
    assert f"docs/{picture.PICTURE.name}" in README
    drawn = list(picture.hooks())
    assert set(picture.MODEL) <= set(drawn)
    assert drawn == [
        "relabel", "embed", "prepare", "features", "rotate", "relative_bias", "bias", "qk_scores", "score_mod",
        "weighted_values",
    ]  # fmt: skip
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", picture.draw(), flags=re.DOTALL)
    for name, (arguments, words) in picture.hooks().items():
        assert f"{name}({arguments})" in text
        assert words.split()[0] in text and len(words) > 20
        assert name in README


def test_what_the_readme_tells_of_the_protocol_is_so() -> None:
    section = " ".join(README.partition("## Add an encoding")[2].partition("## Speed")[0].split())
    assert f"# {', '.join(list(FAMILIES)[:-1])} or {list(FAMILIES)[-1]}" in section
    declared = inspect.signature(Encoding.__init__).parameters
    for word in re.findall(r"`(\w+)=", section):
        assert word in declared, word
    assert all(what in section for what in ExtraInput.__args__)
    families = re.search(r"`family` is one of (.*?) and (\w+):", section)
    assert families is not None
    known = {*families[1].split(", "), families[2]}
    assert {tasks.create(name).family for name in tasks.names()} <= known
    assert all(f'"{family}"' in (ROOT / "tests/tasks/test_every_task.py").read_text() for family in known)


# What a newcomer would write after the README: places of digits in their numbers.
PLACES = '''
"""A trained vector for the place of a digit in its number."""

import torch
from torch import nn

from ordinate import Encoding, Shape
from ordinate.core.encoding import upcast


class Places(Encoding):
    """Adds one trained vector to the first digit of each number, another to the second, and so on, up to the eighth."""

    family = "added"
    formula = r"x_p + E_{c_p}"

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, shift_invariant=True, extra_inputs=("tokens", "neighbors"))
        self.table = nn.Parameter(torch.empty(9, shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, generator=generator)

    def embed(self, x, positions):
        digit = positions.tokens < 10
        if positions.padding_mask is not None:
            digit = digit & positions.padding_mask
        count, own = digit.long(), digit
        for back in range(1, 8):  # how many digits there are before each, without a gap
            before = nn.functional.pad(digit, (back, 0))[:, : positions.length]
            follows = positions.has_previous(back)
            own = own & before if follows is None else own & before & follows
            count = count + own.long()
        return (upcast(x) + upcast(self.table)[count]).to(x.dtype)
'''


@pytest.mark.slow
def test_encodings_written_after_the_readme_pass_the_contract_tests(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its own example as it stands there, and one that reads token ids; each in one file, as a plug-in."""
    (example,) = [block for block in BLOCKS if "class Forget" in block]
    info = tmp_path / "after_readme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: after-readme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ordinate.encodings]\nforget = forget\nplaces = places\n")
    for name, source in (("forget", example), ("places", PLACES)):
        (tmp_path / f"{name}.py").write_text(source)
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = os.environ | {"PYTHONPATH": path, "ORDINATE_UNCHECKED": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/contract", "-k", "forget or places", "-p", "no:xdist", "-o",
         "addopts=-q", *(["--sample"] if request.config.getoption("sample") else [])],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
