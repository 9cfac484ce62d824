"""The program as a user meets it."""

import json
import subprocess
import sys

import pytest

from ordinate import cli, encodings

from .conftest import Program

HELP = """
import sys
import typer
from typer.testing import CliRunner
from ordinate.cli import app

def walk(command, words):
    yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from walk(child, [*words, name])

for words in walk(typer.main.get_command(app), []):
    shown = CliRunner().invoke(app, [*words, "--help"])
    loaded = sorted({module.partition(".")[0] for module in sys.modules})
    print(" ".join(words) or "ordinate", shown.exit_code, "Usage" in shown.output, *loaded, sep="\\t")
"""
HEAVY = {
    "jaxtyping", "jinja2", "matplotlib", "numpy", "orjson", "pandas", "plotly", "rich", "safetensors", "streamlit",
    "tokenizers", "torch",
}  # fmt: skip


def test_help_imports_nothing_heavy(ordinate: Program) -> None:
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    commands = [line.split("\t") for line in done.stdout.splitlines()]
    names = [name for name, *_ in commands]
    assert names[0] == "ordinate" and {"compare", "status", "lm train", "store check"} <= set(names)
    for name, code, usage, *loaded in commands:
        assert (code, usage) == ("0", "True"), name
        assert not HEAVY & set(loaded), name
    assert "positional encoding" in ordinate("--help").out


def test_list_is_a_table_or_json(ordinate: Program) -> None:
    names = [item["name"] for item in json.loads(ordinate("list", "encodings", "--json").out)]
    assert names == encodings.names()
    table = ordinate("list", "encodings").out
    assert all(name in table for name in names)


@pytest.mark.parametrize("name", encodings.names())
def test_everything_can_be_described(name: str) -> None:
    item = encodings.describe(name)
    json.dumps(item)
    assert item["words"].endswith(".")
    assert item["paper"] is None or item["paper"]["bibtex"].startswith("@")
    assert all(parameter["help"] for parameter in item["parameters"])


def test_show_explains(ordinate: Program) -> None:
    shown = ordinate("show", "alibi").out
    for part in ("Formula", "Past the trained length", "max_bias", "@misc{press2021train", "Bias, head 1", "█"):
        assert part in shown
    assert json.loads(ordinate("show", "rope_2d", "--json").out)["axes"] == [2]


def test_mistakes_are_one_sentence_and_exit_two(ordinate: Program) -> None:
    for arguments, words in (
        (("show", "ropee"), "did you mean rope"),
        (("list", "encoding"), "encodings"),
        (("shwo",), "show"),
    ):
        done = ordinate(*arguments)
        assert done.code == 2
        assert words in done.err
        assert "Traceback" not in done.err


def test_memory_that_torch_does_not_get_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(words: str) -> None:
        def command() -> None:
            raise RuntimeError(words)

        monkeypatch.setattr(cli, "app", command)
        monkeypatch.setattr(sys, "argv", ["ordinate"])
        cli.main()

    for words in ("DefaultCPUAllocator: can't allocate memory: you tried to", "CUDA out of memory. Tried to allocate"):
        with pytest.raises(SystemExit) as end:
            fail(words)
        assert end.value.code == 1 and capsys.readouterr().err.startswith("ordinate: there is too little memory for")
    with pytest.raises(RuntimeError, match="something else"):
        fail("something else")
