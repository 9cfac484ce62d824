"""`ordinate probe` as a user meets it."""

import json
from pathlib import Path

import pytest

from .conftest import Program

TINY = ["dim=16", "heads=2", "layers=1", "steps=4", "batch=8", "train_lengths=[4,8]", "ood_lengths=12",
        "evaluation_sequences=20"]  # fmt: skip


@pytest.fixture
def run_id(ordinate: Program, store: str) -> str:
    done = ordinate("train", "k_back(k=1,vocabulary=4)", *TINY, "-e", "rope", "--store", store, "--json")
    return str(json.loads(done.out)["run"])


def test_an_encoding_is_told_on_one_screen(ordinate: Program) -> None:
    done = ordinate("probe", "sinusoidal")
    assert done.code == 0 and len(done.out.splitlines()) < 24
    for part in ("Uniqueness", "Smoothness", "one linear map moves every position", "Past the length"):
        assert part in done.out
    assert ordinate("probe", "rope", "base=500").out == ordinate("probe", "rope(base=500)").out
    found = json.loads(ordinate("probe", "binary", "--json").out)
    assert found["vectors"]["shift_residual"]["1"] > 0.1 and found["scores"] is None


def test_a_run_is_told_on_one_screen(ordinate: Program, store: str, run_id: str, tmp_path: Path) -> None:
    done = ordinate("probe", run_id[:6], "--store", store)
    assert done.code == 0 and len(done.out.splitlines()) < 40, done.err
    for part in ("permuting positions", "Position by layer", "Gradients", "Heads", "Hidden states by layer"):
        assert part in done.out
    assert json.loads(ordinate("probe", run_id, "--store", store, "--json").out)["run"] == run_id
    one = ordinate("probe", run_id, "--store", store, "--head", "1.2")
    assert "At length 12" in one.out and "Layer 1 head 2" in one.out
    assert ordinate("probe", run_id, "--store", store, "-o", "page.html").out == "page.html\n"
    page = (tmp_path / "page.html").read_text()
    assert "What interventions cost" in page and "<script src" not in page
    assert "run-interventions.png" in ordinate("probe", run_id, "--store", store, "-o", "run.png").out
    assert (tmp_path / "run-interventions.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_one_sentence(ordinate: Program, store: str, run_id: str, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    for arguments, words in (
        (("ropee",), "did you mean rope"),
        (("rope+t5",), "a probe takes one at a time"),
        (("rope(base=5)", "base=6"), "given twice"),
        (("rope", "bas=6"), "did you mean base"),
        (("rope", "--head", "1.1"), "--head belongs to a run"),
        (("rope", "-o", "page.gif"), "must end in .html"),
        (("rope", "-o", "no/page.html"), "there is no folder"),
        (("ffff",), "no run 'ffff'"),
        ((run_id, "dim=3"), "has its settings already"),
        ((run_id, "--head", "2"), "as in 1.2"),
        ((run_id, "--head", "7.1"), "there is no head 7.1: this model has layers 1 to 1 with heads 1 to 2"),
        ((run_id, "--sequences", "2"), "at least 4 sequences"),
    ):
        done = ordinate("probe", *arguments, "--store", store)
        assert done.code == 2 and words in done.err and "Traceback" not in done.err, (arguments, done.err)
        assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before
