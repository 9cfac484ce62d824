"""What docs/add-an-encoding.md tells is so: encodings after it, and that of CONTRIBUTING.md, pass the contracts."""

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ordinate import tasks
from ordinate.core.encoding import FAMILIES, Encoding, ExtraInput

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "add-an-encoding.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
TASKS = (ROOT / "docs" / "add-a-task.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_hooks_are_drawn_from_the_protocol() -> None:
    picture = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "hooks.py")))
    assert picture.draw() == picture.PICTURE.read_text()
    assert f"]({picture.PICTURE.name})" in PAGE
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
        assert name in PAGE


def test_what_the_page_tells_of_the_protocol_is_so() -> None:
    section = " ".join(PAGE.split())
    assert f"# {', '.join(list(FAMILIES)[:-1])} or {list(FAMILIES)[-1]}" in section
    declared = inspect.signature(Encoding.__init__).parameters
    for word in re.findall(r"`(\w+)=", section):
        assert word in declared, word
    assert all(what in section for what in ExtraInput.__args__)
    families = re.search(r"is one of (.*?) and (\w+): reports", " ".join(TASKS.split()))
    assert families is not None
    known = {*families[1].split(", "), families[2]}
    assert {tasks.create(name).family for name in tasks.names()} <= known
    assert all(f'"{family}"' in (ROOT / "tests/tasks/test_every_task.py").read_text() for family in known)


# What a newcomer would write after the page: places of digits in their numbers.
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
def test_encodings_written_after_the_page_pass_the_contract_tests(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its own example as it stands there, one that reads token ids, and that of CONTRIBUTING.md; each in one file, as a
    plug-in."""
    (example,) = [block for block in BLOCKS if "class Forget" in block]
    (short,) = re.findall(r"^```python\n([^`]*class Root.*?)^```", CONTRIBUTING, re.DOTALL | re.MULTILINE)
    info = tmp_path / "after_page-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: after-page\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ordinate.encodings]\nforget = forget\nplaces = places\nroot = root\n")
    for name, source in (("forget", example), ("places", PLACES), ("root", short)):
        (tmp_path / f"{name}.py").write_text(source)
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = os.environ | {"PYTHONPATH": path, "ORDINATE_UNCHECKED": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/contract", "-k", "forget or places or root", "-p", "no:xdist", "-o",
         "addopts=-q", *(["--sample"] if request.config.getoption("sample") else [])],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
