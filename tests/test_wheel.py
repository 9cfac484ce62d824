"""The wheel of a clean clone, in a fresh environment outside the repository: alone, and with its extras."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, requires
from pathlib import Path
from urllib.parse import urljoin

import pytest

ROOT = Path(__file__).parents[1]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TINY = [
    "dim=8", "heads=2", "layers=1", "steps=2", "batch=4", "train_lengths=[3,5]", "ood_lengths=[7]",
    "evaluation_sequences=20", "lr=0.003",
]  # fmt: skip


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=clean())
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def clean() -> dict[str, str]:
    """This environment without what would lead Python back to the repository."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run("git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", "clone", folder=folder)
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "..", folder=folder / "clone")
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path) -> Path:
    """A fresh environment that holds the wheel and nothing else; `depend_on` adds packages that are installed here."""
    place = wheel.parent / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", place, folder=wheel.parent)
    pip = (sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", wheel, folder=wheel.parent)
    return place


def needed(extras: set[str]) -> set[str]:
    """Distributions that these extras ask for, and what those ask for in turn, as far as they are installed."""
    offered = DECLARED["optional-dependencies"]
    waiting = [*DECLARED["dependencies"], *(word for extra in extras for word in offered[extra])]
    names: set[str] = set()
    while waiting:
        word = waiting.pop()
        name = normal(re.split(r"[ \[;<>=!~(]", word, maxsplit=1)[0])
        if name == "ordinate":
            waiting += [other for extra in re.findall(r"\[(.*)\]", word) for other in offered[extra]]
        elif name not in names and "extra ==" not in word:
            names.add(name)
            with suppress(PackageNotFoundError):  # of another system, or of another Python
                waiting += requires(name) or ()
    return names


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def depend_on(environment: Path, extras: set[str]) -> None:
    """Let the environment find what is installed here, but nothing that these extras do not ask for."""
    wanted = needed(extras)
    others = {
        top: None
        for top, distributions in packages_distributions().items()
        if not wanted & {normal(name) for name in distributions} and top != "ordinate"
    }
    place = Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))
    found = dict.fromkeys(str(distribution(name).locate_file("")) for name in ("torch", "typer"))
    (place / "here.pth").write_text("\n".join((*found, f"import sys; sys.modules.update({others!r})")))


@pytest.mark.slow
def test_alone_it_has_encodings_and_the_transformer(environment: Path, tmp_path: Path) -> None:
    depend_on(environment, set())
    python, ordinate = environment / "bin" / "python", environment / "bin" / "ordinate"
    assert "rope" in run(ordinate, "list", "encodings", folder=tmp_path)
    code = """
import sys, torch, ordinate
for name in ("pandas", "plotly", "matplotlib", "orjson", "streamlit", "tokenizers", "transformers"):
    assert sys.modules[name] is None, name
model = ordinate.Transformer(ordinate.ModelConfig(vocabulary=8, encoding="rope", dim=16, heads=2, layers=1, length=8))
print(ordinate.__file__, model(torch.zeros(1, 4, dtype=torch.long)).shape)
"""
    where, _, shape = run(python, "-c", code, folder=tmp_path).partition(" ")
    assert where.startswith(str(environment)) and "[1, 4, 8]" in shape


@pytest.mark.slow
def test_with_its_extras_it_compares_reports_and_serves_the_shipped_comparisons(
    environment: Path, tmp_path: Path
) -> None:
    depend_on(environment, {"app", "report"})
    python, ordinate = environment / "bin" / "python", environment / "bin" / "ordinate"
    words = ("compare", "binary_majority", "--encodings", "rope,none", "--quick", "--workers", "0", *TINY)
    assert "binary_majority" in run(ordinate, *words, folder=tmp_path)
    code = "from ordinate.store.examples import open_examples; print(open_examples().folder)"
    examples = run(python, "-c", code, folder=tmp_path).strip()
    assert "# " in run(ordinate, "report", "--store", examples, "--format", "md", "-o", "-", folder=tmp_path)
    command = [ordinate, "app", "--no-browser", "--store", str(tmp_path / "runs")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean()) as server:
        try:
            assert server.stdout is not None
            address = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
            with urllib.request.urlopen(urljoin(address, "/_stcore/health"), timeout=60) as answer:
                assert answer.read() == b"ok"
        finally:
            server.terminate()
