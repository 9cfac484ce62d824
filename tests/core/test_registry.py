"""Adding an encoding takes one file, and nothing else."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ordinate import InputError, encodings
from ordinate.training import resolve

ROOT = Path(__file__).parents[2]

PLUGIN = '''
"""Nearby tokens first, by the square root of their distance."""

from typing import Annotated

from ordinate.core.encoding import Encoding, Shape
from ordinate.core.parameters import Param


class Root(Encoding):
    """Subtracts the square root of the distance from every score, as an example of a plug-in that is one file long."""

    family = "bias"
    formula = r"-m \\sqrt{|i-j|}"

    def __init__(self, shape: Shape, *, slope: Annotated[float, Param("how steep", low=0.0)] = 1.0) -> None:
        super().__init__(shape, shift_invariant=True)
        self.slope = slope

    def relative_bias(self, relative):
        return -self.slope * relative.abs().float().sqrt().expand(self.shape.heads, -1)
'''


def run(*command: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


# Loads torch once and forks for every command.
COMMANDS = """
import json, os, sys, tempfile
import ordinate.training
from ordinate.cli import main
ends = []
for arguments in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = os.fork()
        if not process:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv, code = ["ordinate", *arguments], 0
            try:
                main()
            except SystemExit as end:
                code = end.code
            finally:
                sys.stdout.flush()
                os._exit(code or 0)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        out.seek(0), err.seek(0)
        ends.append([code, out.read(), err.read()])
print(json.dumps(ends))
"""


def commands(*lines: str, path: Path) -> list[tuple[int, str, str]]:
    """The exit code of each command, and what it printed to standard output and standard error."""
    done = run("-c", COMMANDS, json.dumps([line.split() for line in lines]), path=path)
    assert done.returncode == 0, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


@pytest.mark.slow
def test_a_plugin_is_listed_and_usable_in_a_model(tmp_path: Path) -> None:
    (tmp_path / "root_distance.py").write_text(PLUGIN)
    info = tmp_path / "root_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: root-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ordinate.encodings]\nroot_distance = root_distance\n")

    code = textwrap.dedent("""
        import sys, torch
        from ordinate import ModelConfig, Transformer
        from ordinate.cli import main
        model = Transformer(ModelConfig(vocabulary=5, encoding="root_distance(slope=2)"))
        print(tuple(model(torch.zeros(1, 9, dtype=torch.long)).shape), flush=True)
        sys.argv = "ordinate list encodings --json".split()
        main()
    """)
    shape, _, listed = run("-c", code, path=tmp_path).stdout.partition("\n")
    assert shape == "(1, 9, 5)" and "root_distance" in [item["name"] for item in json.loads(listed)]


def test_a_file_in_the_folder_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "root_here.py").write_text(PLUGIN)
    monkeypatch.setattr(encodings, "__path__", [*encodings.__path__, str(tmp_path)])
    assert "root_here" in encodings.names()
    assert encodings.create("root_here", dim=8, heads=2, length=4, slope=3).slope == 3.0


def test_unknown_names_and_parameters_suggest_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown encoding 'ropee': did you mean rope"):
        encodings.create("ropee", dim=8, heads=2, length=4)
    with pytest.raises(InputError, match="rope has no parameter bse: did you mean base"):
        encodings.create("rope", dim=8, heads=2, length=4, bse=3)
    with pytest.raises(InputError, match="none has no parameter x: it takes none"):
        encodings.create("none", dim=8, heads=2, length=4, x=3)
    with pytest.raises(InputError, match="scaling must be one of none, linear"):
        encodings.create("rope", dim=8, heads=2, length=4, scaling="yarrn")
    with pytest.raises(InputError, match="base must be at least 1"):
        encodings.create("rope", dim=8, heads=2, length=4, base=0.5)
    with pytest.raises(InputError, match="buckets must be a whole number, got True"):
        encodings.create("t5", dim=8, heads=2, length=4, buckets=True)


def test_several_encodings_are_no_name_of_one() -> None:
    for text in ("rope+alibi", "rope(base=500)"):
        with pytest.raises(InputError, match="create makes one encoding by its name, with parameters as keywords"):
            encodings.create(text, dim=8, heads=2, length=4)


def test_a_broken_plugin_is_named(tmp_path: Path) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ordinate.encodings]\nbroken = no_such_module\n")
    (shown, _, complaint), (listed, names, warning) = commands("show broken", "list encodings", path=tmp_path)
    assert shown == 2
    assert "no_such_module, which cannot be loaded" in complaint
    assert "Traceback" not in complaint
    assert listed == 1
    assert "no_such_module" in warning
    assert "rope" in names  # one that is broken does not hide the others


def install_worse(folder: Path, code: str, patch: pytest.MonkeyPatch) -> None:
    """A plug-in with the encoding `worse`, for one test."""
    info = folder / "bad-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ordinate.encodings]\nworse = bad:Root\n")
    (folder / "bad.py").write_text(code)
    patch.syspath_prepend(folder)
    patch.delitem(sys.modules, "bad", raising=False)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise SystemExit(3)", "loaded: SystemExit: 3"),
        (PLUGIN.replace("self.slope = slope", "1 / 0"), "made: ZeroDivisionError: division by zero"),
        (PLUGIN.replace("self.slope = slope", "raise ValueError('\\x1b[2J')"), r"made: ValueError: \x1b[2J"),
    ],
)
def test_a_plugin_that_ends_in_an_error_is_told_of_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, told: str
) -> None:
    install_worse(tmp_path, code, monkeypatch)
    with pytest.raises(InputError) as refused:
        encodings.create("worse", dim=8, heads=2, length=4)
    assert str(refused.value) == f"encoding 'worse' comes from bad:Root, which cannot be {told}"


def test_a_plugin_that_fails_in_a_model_is_told_of_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = PLUGIN.replace("return -self.slope", "raise RuntimeError('no'); return -self.slope")
    install_worse(tmp_path, code, monkeypatch)
    with pytest.raises(InputError, match="worse comes from bad:Root, and a model fails with it: RuntimeError: no"):
        resolve(dict(task="k_back", encoding="worse"))


def test_a_plugin_cannot_take_the_name_of_a_built_in_encoding(tmp_path: Path) -> None:
    """The built-in one is used, which every command says in one sentence."""
    info = tmp_path / "taken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: taken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ordinate.encodings]\nrope = no_such_module\n")
    words = (
        "ordinate: encoding 'rope' is the built-in one: the plug-in no_such_module has the same name and is ignored,"
        " rename that one to use it\n"
    )
    *using, other = commands(
        "show rope", "train k_back -e rope --dry-run", "list encodings", "show alibi", path=tmp_path
    )
    for code, _, warning in using:
        assert code == 0 and warning.count(words) == 1 and "Warning" not in warning
    assert other[0] == 0 and other[2] == ""


def test_only_its_own_file_names_an_encoding() -> None:
    """Ordinary words say other things too; all other names are searched for as string constants."""
    import ast

    ordinary = "none segment learned path relative continuous conditional graph binary decimal"
    names = set(encodings.names()) - set(ordinary.split())
    source = ROOT / "src" / "ordinate"
    for file in source.rglob("*.py"):
        relative = file.relative_to(source)
        if relative.parts[0] in ("encodings", "lessons", "interop") or relative.parts[:2] == ("report", "reasons"):
            continue  # the last answers questions that were asked about single encodings
        for node in ast.walk(ast.parse(file.read_text())):
            named = isinstance(node, ast.Constant) and node.value in names
            assert not named, f"{relative}:{node.lineno} names an encoding"


def test_a_parameter_without_a_type_is_named() -> None:
    from ordinate.core.parameters import parameters

    class Careless:
        def __init__(self, *, slope=1.0) -> None: ...

    with pytest.raises(InputError, match="parameter slope of Careless has no type"):
        parameters(Careless)
