"""A missing package of an extra is one sentence that names the extra; the bare installation needs none of them."""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from ordinate import InputError, cli
from ordinate.core.extras import EXTRAS, optional, require_extra

DECLARED = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
Hide = Callable[..., None]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Hide:
    """Makes packages look as if they were not installed."""

    def packages(*names: str) -> None:
        for name in names:
            for loaded in [loaded for loaded in sys.modules if loaded == name or loaded.startswith(f"{name}.")]:
                monkeypatch.delitem(sys.modules, loaded)
            monkeypatch.setitem(sys.modules, name, None)

    return packages


def test_the_extras_are_those_of_the_package() -> None:
    declared = DECLARED["optional-dependencies"]
    for extra, names in EXTRAS.items():
        own = {word.partition(">")[0] for word in declared[extra] if not word.startswith("ordinate[")}
        assert own <= set(names), extra
        assert set(names) - own <= ({*EXTRAS["report"]} if extra == "app" else set())
    assert {"report", "app", "lm", "track", "hf", "ray", "lm-eval", "dev", "oracles"} == set(declared)
    assert "torch==2.13.0\n" in (Path(__file__).parents[1] / "constraints.txt").read_text()


@pytest.mark.parametrize(("extra", "name"), [(extra, name) for extra, names in EXTRAS.items() for name in names])
def test_a_missing_package_is_named_with_its_extra(extra: str, name: str, hide: Hide) -> None:
    hide(name)
    with pytest.raises(InputError, match=rf"^this needs {name}: pip install 'ordinate\[{extra}\]'$"):
        require_extra(extra)
    with pytest.raises(InputError, match=rf"^this needs {name}, which cannot be imported .*: pip install 'ordinate\["):
        optional(name)


@pytest.mark.parametrize(
    ("words", "name", "extra"),
    [
        ("compare k_back", "jinja2", "report"),
        ("compare k_back --executor ray", "ray", "ray"),
        ("report --store {examples} -o page.html", "plotly", "report"),
        ("report --store {examples} --format json -o -", "orjson", "report"),
        ("app", "streamlit", "app"),
        ("lm prepare", "tokenizers", "lm"),
    ],
)
def test_a_command_without_its_extra_is_one_sentence_and_exits_two(
    words: str, name: str, extra: str, hide: Hide, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from ordinate.store.examples import open_examples

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ordinate", *words.format(examples=open_examples().folder).split()])
    hide(name)
    with pytest.raises(SystemExit) as end:
        cli.main()
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ordinate: ")]
    assert end.value.code == 2 and len(lines) == 1
    assert f"this needs {name}" in lines[0] and f"pip install 'ordinate[{extra}]'" in lines[0]
    assert not list(tmp_path.iterdir())
