"""`ordinate list` and `ordinate show`: layout, pictures and faulty plug-ins."""

import io
import json
import math
import re
import sys
from pathlib import Path

import pytest
import torch
from rich.console import Console

from ordinate import encodings, lessons, tasks
from ordinate.cli import list as list_command
from ordinate.cli import main, show
from ordinate.core.encoding import FAMILIES
from ordinate.report.encoding_terminal import SIDE, TOKENS, draw, text_pictures

LAST = TOKENS - 1


def run(*arguments: str, patch: pytest.MonkeyPatch) -> int:
    patch.setattr(sys, "argv", ["ordinate", *arguments])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def screen(patch: pytest.MonkeyPatch, width: int) -> io.StringIO:
    """A terminal of this width, as `list` makes one."""
    shown = io.StringIO()
    patch.setattr(list_command, "console", lambda _: Console(file=shown, width=width, markup=False, highlight=False))
    return shown


@pytest.mark.parametrize("width", [80, 120])
def test_encodings_stand_under_their_families(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screen(monkeypatch, width)
    assert run("list", "encodings", patch=monkeypatch) == 0
    lines = shown.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    assert not any("…" in line for line in lines)
    headings = [line for line in lines if line.partition(":")[0] in FAMILIES and ":" in line]
    assert headings == [f"{family}: {meaning}" for family, meaning in FAMILIES.items()]
    family, under = "", {}
    for line in lines[1:]:
        if line in headings:
            family = line.partition(":")[0]
        elif line:
            under[line.split()[0]] = family
    assert under == {name: encodings.registry.get(name).family for name in encodings.names()}


def test_a_family_of_a_plugin_has_a_heading_too(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screen(monkeypatch, 80)
    odd = encodings.describe("rope") | {"family": "odd", "name": "mine"}
    list_command._encodings([encodings.describe("none"), odd])
    assert shown.getvalue().splitlines()[-2] == "odd"
    assert shown.getvalue().splitlines()[-1].startswith("mine ")


def test_json_holds_all_that_describe_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, source in (("encodings", encodings), ("tasks", tasks)):
        assert run("list", kind, "--json", patch=monkeypatch) == 0
        listed = json.loads(capsys.readouterr().out)
        assert listed == json.loads(json.dumps([source.describe(name) for name in source.names()]))


@pytest.mark.parametrize("width", [80, 120])
def test_tasks_fit_with_their_examples(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screen(monkeypatch, width)
    assert run("list", "tasks", patch=monkeypatch) == 0
    lines = shown.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    rows = [line for line in lines[1:] if not line.startswith("    ")]
    assert [row.split()[0] for row in rows] == tasks.names()
    assert not any("…" in row for row in rows)


@pytest.mark.parametrize("name", encodings.names())
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_every_encoding_has_pictures_that_fit(name: str, encoding: str) -> None:
    raw = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    console = Console(file=raw, width=80, markup=False, highlight=False)
    show._pictures(console, name)
    raw.seek(0)
    text = raw.read()
    assert "No picture" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    sentence, found = text_pictures(name)
    assert found or encodings.registry.get(name).family == "none"
    for picture in found:
        assert picture.title in text
        assert {len(row) for row in picture.rows} == {SIDE if picture.kind == "map" else TOKENS}
    family = encodings.registry.get(name).family
    titles = " ".join(picture.title for picture in found)
    assert {
        "none": "" in titles,
        "added": "added vectors" in titles or "takes from" in titles,
        "rotation": "Score of equal vectors" in titles,
        "bias": "Bias" in titles,
        "content": "scores" in titles or "score of a key" in titles,
    }[family]
    assert sentence or not list(encodings.example(name).parameters())


def test_pictures_show_what_formulas_say() -> None:
    _, (first, last) = text_pictures("alibi")
    assert first.rows[0] == pytest.approx([-r / 4 for r in range(TOKENS)])
    assert last.rows[0] == pytest.approx([-r / 256 for r in range(TOKENS)])
    _, (turned,) = text_pictures("rope")
    theta = [10_000 ** (-k / 8) for k in range(8)]
    assert turned.rows[0] == pytest.approx([sum(math.cos(r * t) for t in theta) / 8 for r in range(TOKENS)], abs=1e-5)
    _, (similar, vectors) = text_pictures("sinusoidal")
    waves = [10_000 ** (-k / 32) for k in range(32)]
    assert similar.rows[0] == pytest.approx([sum(math.cos(r * t) for t in waves) / 32 for r in range(TOKENS)], abs=1e-5)
    assert vectors.rows[0] == pytest.approx([math.sin(p) for p in range(TOKENS)], abs=1e-5)
    _, (forgotten, *_) = text_pictures("fox")
    assert forgotten.rows[0][0] == 0
    assert all(nearer > farther for nearer, farther in zip(forgotten.rows[0], forgotten.rows[0][1:], strict=False))


def test_show_takes_parameters(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Traits and pictures are those that the encoding has with them."""
    shown = {}
    for text in ("shaw", "rope(scaling=dynamic, factor=2)", "lookhere(everywhere=4)"):
        assert run("show", text, patch=monkeypatch) == 0
        shown[text] = capsys.readouterr().out
    assert "depends on absolute position" in shown["rope(scaling=dynamic, factor=2)"]
    assert "head 1" in shown["lookhere(everywhere=4)"]
    assert text_pictures("alibi", max_bias=4)[1][1].rows[0] == pytest.approx([-r / 16 for r in range(TOKENS)])
    assert run("show", "rope(scaling=dynamic)", "--json", patch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["extrapolation"] == "extends"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rope+alibi", "show explains one at a time: ordinate show rope, then ordinate show alibi"),
        ("ropee(base=3)", "unknown encoding or task 'ropee': did you mean rope"),
        ("rope(bse=3)", "rope has no parameter bse: did you mean base?"),
        ("k_back(k=5)", "show explains a task with its defaults: ordinate show k_back"),
        ("rope(", "cannot read 'rope('"),
    ],
)
def test_what_show_cannot_explain(
    text: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", text, patch=monkeypatch) == 2
    assert words in capsys.readouterr().err


def test_a_map_lies_around_the_middle() -> None:
    _, (picture,) = text_pictures("rope_2d")
    values, middle = torch.tensor(picture.rows), SIDE // 2
    assert values[middle, middle] == values.max()
    torch.testing.assert_close(values, values.flip(0))
    lines = draw(picture, blocks=True)
    assert lines[middle].index("()") == 10 + 2 * middle


def test_what_starts_at_nothing_is_drawn_with_random_values_and_says_so() -> None:
    sentence, found = text_pictures("cope")
    assert sentence.startswith("Before training it changes nothing")
    assert found
    assert text_pictures("cope")[1] == found  # the same each time
    assert text_pictures("none") == ("Nothing to draw: it leaves every embedding and every score as it is.", [])


BROKEN = '''
"""An encoding that cannot be made."""

from ordinate.core.encoding import Encoding


class Broken(Encoding):
    """Raises in its constructor, as a half-written class does."""

    family = "bias"

    def __init__(self, shape):
        raise ZeroDivisionError("half written [/bold]")
'''

BRACKETS = '''
"""An encoding with square brackets wherever there may be some."""

from typing import Annotated

from ordinate.core.encoding import Encoding
from ordinate.core.parameters import Param


class Brackets(Encoding):
    """Turns [red] into [/red] and leaves everything else, such as [bold], as it is."""

    family = "[dim]"
    formula = "x[/i]"

    def __init__(self, shape, *, mode: Annotated[str, Param("one of [a] or [/b]")] = "[/c]"):
        super().__init__(shape)

    def bias(self, pair):
        raise RuntimeError("no bias [/d]")
'''


def plug_in(folder: Path, name: str, source: str, patch: pytest.MonkeyPatch) -> None:
    """An installed distribution with one encoding."""
    module = f"plugin_{abs(hash(source))}"
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[ordinate.encodings]\n{name} = {module}\n")
    patch.syspath_prepend(folder)


def test_a_constructor_that_raises_hides_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plug_in(tmp_path, "half", BROKEN, monkeypatch)
    assert run("list", "encodings", patch=monkeypatch) == 1
    printed = capsys.readouterr()
    broken = r"ordinate: encoding 'half' comes from plugin_\d+, which cannot be made: ZeroDivisionError: half written "
    assert re.fullmatch(rf"{broken}\[/bold\]\n", printed.err)
    assert all(name in printed.out for name in encodings.names() if name != "half")
    assert run("list", "encodings", "--json", patch=monkeypatch) == 1
    assert len(json.loads(capsys.readouterr().out)) == len(encodings.names()) - 1
    assert run("show", "half", patch=monkeypatch) == 2
    assert capsys.readouterr().err == printed.err


def test_square_brackets_are_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plug_in(tmp_path, "mine[/bold]", BRACKETS, monkeypatch)
    assert run("show", "mine[/bold]", patch=monkeypatch) == 0
    shown = capsys.readouterr().out
    for part in ("mine[/bold]", "([dim])", "[red] into [/red]", "x[/i]", "[a] or [/b]", "[/c]", "no bias [/d]"):
        assert part in shown
    assert run("list", "encodings", patch=monkeypatch) == 0
    assert "mine[/bold]" in capsys.readouterr().out


def test_lessons_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "lessons", patch=monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["lesson", "title", "question"]
    assert [line.split()[0] for line in lines[1:]] == lessons.names()
    assert run("list", "lessons", "--json", patch=monkeypatch) == 0
    assert [own["name"] for own in json.loads(capsys.readouterr().out)] == lessons.names()
