"""`ordinate lm eval` as a user meets it: results beside the checkpoint, a page, and mistakes in one sentence."""

import json
import shutil
from pathlib import Path

import pytest

from .conftest import Forked, Program
from .test_lm import SMALL, folder  # noqa: F401 - a fixture

QUICK = """
[text]
overall = 500
tokens = 128
targets = 32
contexts = [0.5, 1, 2]
more_contexts = []
[problems]
kinds = ["copy", "add"]
shots = [0, 1]
count = 2
[passkey]
contexts = [2, 4]
depths = [0, 1]
symbols = 1
count = 2
[induction]
periods = [0.5]
sequences = 2
"""


@pytest.fixture(scope="module")
def models(folder: Path) -> Path:  # noqa: F811
    """Two small models and a configuration."""
    for encoding in ("rope", "learned"):
        train = Forked(
            "lm", "train", "--size", "nano", "-e", encoding, "--budget", "1k", "--data", str(folder / "data" / "notes"),
            "--threads", "1", "--checkpoints", str(folder / "checkpoints"), *SMALL,
        )  # fmt: skip
        assert train.wait() == 0
    (folder / "quick.toml").write_text(QUICK)
    return folder


@pytest.fixture
def place(models: Path, tmp_path: Path) -> Path:
    for name in ("checkpoints", "data"):
        shutil.copytree(models / name, tmp_path / name)
    shutil.copy(models / "quick.toml", tmp_path)
    return tmp_path


ROPE, LEARNED = "checkpoints/nano_rope_1k_s42", "checkpoints/nano_learned_1k_s42"
GIVEN = ("--config", "quick.toml", "--threads", "1")


def test_results_are_stored_once_and_the_run_stays_as_it_is(ordinate: Program, place: Path) -> None:
    before = {path.name: path.read_bytes() for path in (place / ROPE).iterdir()}
    done = ordinate("lm", "eval", ROPE, *GIVEN)
    assert done.code == 0, done.err
    assert "bits/byte" in done.out and "sliding" in done.out and "copy" in done.out and "random tokens" in done.out
    after = {path.name: path.read_bytes() for path in (place / ROPE).iterdir()}
    (new,) = after.keys() - before.keys()
    assert new.startswith("eval_") and {name: after[name] for name in before} == before
    again = ordinate("lm", "eval", f"{ROPE}/latest.pt", *GIVEN, "--json")
    assert "evaluated before" in again.err
    found = json.loads(again.out)
    assert found["encoding"] == "rope" and found["decayed"] is True and found["mix"] == 0
    long = {row["protocol"] for row in found["contexts"] if row["text"] == "long"}
    assert long == {"disjoint", "sliding", "same targets", "key tokens"}
    assert all(row["context"] and row["stride"] for row in found["contexts"])
    whole = json.loads((place / ROPE / "result.json").read_text())
    overall = next(row["losses"] for row in found["contexts"] if row["text"] == "all")
    assert abs(sum(overall["loss"]) / sum(overall["tokens"]) - whole["valid_loss"]) < 0.3


def test_several_models_make_one_page_without_a_network(ordinate: Program, place: Path) -> None:
    done = ordinate("lm", "eval", ROPE, LEARNED, *GIVEN, "-o", "both.html")
    assert done.code == 0, done.err
    assert "One training seed each" in done.out and "n/a" in done.out
    page = (place / "both.html").read_text()
    assert "refuses from position 16 on" in page and "http" not in page.partition("<script")[0].replace(
        "http-equiv", ""
    )
    for figure in ("change-by-context", "loss-by-position", "loss-by-context", "passkey", "induction"):
        assert f'id="plot-{figure}"' in page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere",), "there is no file nowhere"),
        (("data",), "holds no latest.pt"),
        ((ROPE, "--config", "nowhere.toml"), "nowhere.toml"),
        ((ROPE, "--config", "bad.toml"), "unknown key contxts: did you mean contexts"),
        ((ROPE, "--config", "worse.toml"), "contexts must hold 1"),
        ((ROPE, "--config", "broken.toml"), "is not TOML"),
        ((ROPE, "--only", "text,poetry"), "unknown part 'poetry'"),
        ((LEARNED, "--scaling", "yarn"), "has no scaling, which rope has"),
        ((ROPE, "--scaling", "yern"), "did you mean yarn"),
        ((ROPE, "--data", "other"), "other"),
        ((ROPE, "-o", "page.pdf"), "neither a page"),
        ((ROPE, LEARNED, "-o", "both.json"), "results of one checkpoint"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    ordinate: Program, place: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (place / "bad.toml").write_text("[text]\ncontxts = [1]\n")
    (place / "worse.toml").write_text("[text]\ncontexts = [2]\n")
    (place / "broken.toml").write_text("[text\n")
    done = ordinate("lm", "eval", *arguments)
    assert done.code == 2, done.err
    assert sentence in done.err.splitlines()[-1] and "Traceback" not in done.err
    assert not list(place.glob("checkpoints/*/eval*")) and not list(place.glob("*.html"))
