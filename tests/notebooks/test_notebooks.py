"""The notebooks run from their first cell to the last, those of lessons too."""

import runpy
from pathlib import Path

import nbformat
import pytest

WRITER = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "notebooks.py"))
SCRIPTS: dict[str, str] = WRITER["scripts"]()
LESSONS = [name for name in SCRIPTS if name.startswith("lessons/")]
OWN = [name for name in SCRIPTS if name not in LESSONS]
# Their functions run in the tests of lessons: here it is shown that a notebook of them runs.
CHECKED = LESSONS[:1]


def test_there_are_those_that_were_promised() -> None:
    assert {"quick_start", "encodings_by_hand", "s0_experiment", "s1_experiment", "your_own_data", "probe_a_model",
            "small_language_model", "transformers_model"} <= set(OWN)  # fmt: skip
    assert len(LESSONS) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OWN, *CHECKED, *(pytest.param(n, marks=pytest.mark.sampled) for n in LESSONS[1:])])
def test_it_runs(name: str, tmp_path: Path) -> None:
    made = WRITER["notebook"](name, SCRIPTS[name])
    WRITER["run"](made, tmp_path)
    outputs = [output for cell in made.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs and not [output for output in outputs if output.output_type == "error"]


@pytest.mark.parametrize("name", WRITER["COLAB"])
def test_what_colab_opens_is_what_the_script_says(name: str) -> None:
    """Committed without outputs: to write it again, python docs/notebooks.py --no-run."""
    made = WRITER["notebook"](name, SCRIPTS[name])
    path = WRITER["FOLDER"] / f"{name}.ipynb"
    kept = nbformat.read(path, as_version=4)

    def cells(notebook: nbformat.NotebookNode) -> list[str]:
        return [cell.source for cell in notebook.cells if "colab-badge" not in cell.source]

    assert cells(kept) == cells(made), f"to write {path.name} again: python docs/notebooks.py --no-run {name}"
    assert not any(cell.get("outputs") for cell in kept.cells)


def test_a_badge_needs_a_published_address(monkeypatch: pytest.MonkeyPatch) -> None:
    badge = WRITER["colab_badge"]
    answer = type("Answer", (), {"stdout": "git@github.com:someone/ordinate.git\n"})
    monkeypatch.setattr(WRITER["subprocess"], "run", lambda *given, **more: answer)
    assert "github/someone/ordinate/blob/main/notebooks/quick_start.ipynb" in badge("quick_start")
    answer.stdout = "/somewhere/else\n"  # type: ignore[attr-defined]
    assert badge("quick_start") == ""
