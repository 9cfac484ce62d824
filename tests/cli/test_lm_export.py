"""`ordinate lm generate` and `lm export` as a user meets them."""

import json
from pathlib import Path

import pytest

from ordinate.text.prepare import prepare
from ordinate.text.request import request

from .conftest import Program

SMALL = ("dim=16", "layers=1", "heads=2", "length=16", "batch=4", "warmup=2", "vocabulary=300")


@pytest.fixture
def trained(ordinate: Program, tmp_path: Path) -> Path:
    """A checkpoint folder, with its corpus where it is looked for."""
    (tmp_path / "notes").mkdir()
    for number in range(100):
        (tmp_path / "notes" / f"{number}.txt").write_text(f"{number} " + "one two three " * (number % 7 + 1))
    data = tmp_path / "data" / "notes"
    prepare(request(f"text:{tmp_path / 'notes'}", vocabulary=300, valid=0.1), data, workers=0)
    place = tmp_path / "checkpoints"
    done = ordinate(
        "lm", "train", "--size", "nano", "-e", "alibi", "--budget", "1k", "--data", str(data),
        "--checkpoints", str(place), "--threads", "1", *SMALL,
    )  # fmt: skip
    assert done.code == 0, done.err
    return place / "nano_alibi_1k_s42"


def test_a_model_is_continued_and_exported(ordinate: Program, trained: Path, tmp_path: Path) -> None:
    given = ("lm", "generate", str(trained), "--prompt", "7 one", "--tokens", "5", "--temperature", "1", "--seed", "3")
    first, second = ordinate(*given), ordinate(*given, "--json")
    assert first.code == 0, first.err
    assert first.out.startswith("7 one") and json.loads(second.out)["continuation"] == first.out[5:-1]
    made = ordinate("lm", "export", str(trained), "-o", str(tmp_path / "made"))
    assert made.code == 0 and f'load: ordinate.load_hf("{tmp_path / "made"}")' in made.out
    assert "`alibi`" in (tmp_path / "made" / "README.md").read_text()

    trunk = trained.parent / "nano_alibi_trunk_s42"
    plain = ordinate("lm", "export", str(trunk), "-o", str(tmp_path / "plain"), "--format", "safetensors", "--json")
    assert "has not decayed" in plain.err and json.loads(plain.out)["loading"] == "safetensors"
    assert "Not finished" in (tmp_path / "plain" / "README.md").read_text()
    for words, sentence in {
        ("export", str(trained), "-o", str(tmp_path / "made")): "exists already",
        ("export", str(trained), "-o", str(tmp_path / "new"), "--format", "onnx"): "choose transformers or safetensors",
        ("export", str(tmp_path / "nowhere"), "-o", str(tmp_path / "new")): "there is no file",
        ("generate", str(trained), "--prompt", "a", "--tokens", "0"): "--tokens must be at least 1",
        ("generate", str(trained), "--prompt", "a", "--temperature", "-1"): "not negative",
    }.items():
        done = ordinate("lm", *words)
        assert done.code == 2 and sentence in done.err, done.err
        assert "Traceback" not in done.err
    assert not (tmp_path / "new").exists()
