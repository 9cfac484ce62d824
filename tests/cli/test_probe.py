"""`ordinate probe` as a user meets it."""

import json
import re
import shlex
from pathlib import Path

import pytest

from .conftest import Program

TINY = ["dim=24", "heads=3", "layers=2", "steps=4", "batch=8", "train_lengths=[4,8]", "ood_lengths=12",
        "evaluation_sequences=20"]  # fmt: skip


@pytest.fixture
def run_id(ordinate: Program, store: str) -> str:
    done = ordinate("train", "k_back(k=1,vocabulary=4)", *TINY, "-e", "rope", "--store", store, "--json")
    return str(json.loads(done.out)["run"])


@pytest.fixture
def checkpoint(ordinate: Program, tmp_path: Path) -> str:
    """A small language model, with its text where `lm prepare` leaves it."""
    (tmp_path / "notes").mkdir()
    for number in range(40):
        (tmp_path / "notes" / f"{number}.txt").write_text(f"{number} " + "one two three " * (100 + number))
    assert ordinate("lm", "prepare", "text:notes", "--vocabulary", "300", "--valid", "0.2", "--workers", "0").code == 0
    small = ("dim=16", "layers=1", "heads=2", "length=16", "batch=4", "warmup=2", "vocabulary=300")
    done = ordinate("lm", "train", "--size", "nano", "-e", "rope", "--budget", "1k", "--threads", "1", *small)
    assert done.code == 0, done.err
    return "checkpoints/nano_rope_1k_s42"


def test_a_language_model_is_told_on_one_screen(ordinate: Program, checkpoint: str, tmp_path: Path) -> None:
    done = ordinate("probe", checkpoint)
    assert done.code == 0 and len(done.out.splitlines()) < 40, done.err
    for part in (
        "nano with rope, seed 42, 1.024k tokens",
        "of loss in nats per token",
        "Position by layer",
        "Gradients",
    ):
        assert part in done.out
    assert json.loads(ordinate("probe", f"{checkpoint}/latest.pt", "--json").out)["name"] == "nano_rope_1k_s42"
    assert ordinate("probe", checkpoint, "-o", "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert "increase of loss in nats per token" in page and "Attention on one example" in page
    before = sorted(path.name for path in tmp_path.rglob("*"))
    for arguments, words in (
        ((checkpoint, "dim=3"), "has its settings already"),
        ((checkpoint, "--length", "3"), "at least 8 tokens, got 3"),
        ((checkpoint, "--head", "9.1"), "there is no head 9.1"),
        (("checkpoints/nothing",), "there is no file checkpoints/nothing"),
        ((checkpoint, "--data", "notes"), "notes"),
        (("rope", "--length", "9"), "--length belongs to a language model"),
    ):
        done = ordinate("probe", *arguments)
        assert done.code == 2 and words in done.err and done.err.count("\n") == 1, (arguments, done.err)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


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
        ((run_id, "--head", "7.1"), "there is no head 7.1: this model has layers 1 to 2 with heads 1 to 3"),
        ((run_id, "--sequences", "2"), "at least 4 sequences"),
    ):
        done = ordinate("probe", *arguments, "--store", store)
        assert done.code == 2 and words in done.err and "Traceback" not in done.err, (arguments, done.err)
        assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_commands_of_the_page_on_probes_run(
    ordinate: Program, store: str, run_id: str, checkpoint: str, tmp_path: Path
) -> None:
    """On a small run and small models; runs are resolved, not trained."""
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = dict(n_embd=16, n_layer=1, n_head=2, n_positions=64, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(GPT2Config(vocab_size=40, **sizes)).save_pretrained(tmp_path / "model")
    page = (Path(__file__).parents[2] / "docs" / "probes.md").read_text()
    shell = "\n".join(re.findall(r"^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    lines = [line.partition("#")[0].strip() for line in shell.splitlines() if line.startswith("ordinate ")]
    assert len(lines) >= 8
    for line in lines:
        line = line.replace("RUN", run_id).replace("DIR", "model").replace("checkpoints/nano_rope_2M_s42", checkpoint)
        words = shlex.split(line)[1:]
        words += ["--dry-run"] if "train" in words else ["--store", store]
        done = ordinate(*words)
        assert done.code == 0 and done.out, (line, done.err)
    assert (tmp_path / "page.html").exists()
