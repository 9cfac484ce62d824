"""`ordinate lm compare` and studies of language models as a user meets them."""

import json
from pathlib import Path

import pytest

from ordinate.text.prepare import prepare
from ordinate.text.request import request

from .conftest import Program

SMALL = ("dim=8", "layers=1", "heads=1", "length=8", "batch=2", "warmup=1", "vocabulary=300")
EVALUATION = """
parts = ["text"]
[text]
overall = 100
tokens = 100
contexts = [1, 2]
more_contexts = []
windows = ["disjoint"]
targets = 20
"""
STUDY = """
title = "Small"
question = "Does it hold?"
size = "nano"
budget = "128"
seeds = 1
settings = { dim = 8, layers = 1, heads = 1, length = 8, batch = 2, warmup = 1, vocabulary = 300 }
[evaluation]
parts = ["text"]
text = { overall = 100, tokens = 100, contexts = [1, 2], more_contexts = [], targets = 20 }
[[parts]]
name = "one"
encodings = ["rope", "none"]
[[parts.published]]
text = "none is worse"
above = "none"
below = "rope@2"
value = 1.1
[[parts]]
name = "two"
encodings = ["rope"]
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("work")
    (place / "notes").mkdir()
    for number in range(60):
        (place / "notes" / f"{number}.txt").write_text(f"{number} " + "one two three " * (number % 7 + 1))
    prepare(request(f"text:{place / 'notes'}", vocabulary=300, valid=0.3), place / "data", workers=0)
    return str(place / "data")


def test_a_comparison_from_nothing_to_a_page(ordinate: Program, data: str, tmp_path: Path) -> None:
    (tmp_path / "eval.toml").write_text(EVALUATION)
    command = ("lm", "compare", "--size", "nano", "-e", "rope,none", "--seeds", "1", "--budget", "128", "--data", data,
               "--workers", "0", "--config", "eval.toml")  # fmt: skip
    ahead = ordinate(*command, "--dry-run", *SMALL)
    assert ahead.code == 0 and "2 runs, 0 done; 256 tokens to train on" in ahead.out
    assert "1 seed can claim nothing about two encodings" in ahead.out and not (tmp_path / "checkpoints").exists()
    done = ordinate(*command, "-o", "page.html", *SMALL)
    assert done.code == 0 and "Traceback" not in done.err
    assert "At the trained length:" in done.out and "Past it:" in done.out
    page = (tmp_path / "page.html").read_text()
    assert "Loss by context" in page and "Loss by position" in page and "<script" in page
    again = ordinate(*command, "--json", *SMALL)
    found = json.loads(again.out)
    assert "2 runs, all done" in again.err and found["finished"] and len(found["tables"]["runs"]) == 2
    assert {row["encoding"] for row in found["parts"][0]["scores"]} == {"rope", "none"}


def test_a_study_by_its_file(ordinate: Program, data: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    before = ordinate("study", "report", "small.toml")
    assert before.code == 0 and "Still to be run: all of it (2 runs). Go on with  ordinate lm prepare" in before.out
    assert "2 runs, 0 done" in ordinate("study", "plan", "small.toml", "--data", data).out
    done = ordinate("study", "run", "small.toml", "--data", data, "--workers", "0")
    assert done.code == 0 and "Published: none is worse (ratio 1.1). Measured: " in done.out
    status = ordinate("study", "status", "small.toml", "--data", data)
    assert status.out.splitlines() == ["one  2 of 2 runs  done", "two  1 of 1 runs  done"]
    for form in ("md", "csv", "tex", "json", "html"):
        assert ordinate("report", "small.toml", "--data", data, "--format", form).code == 0


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("lm", "compare", "--size", "nano", "-e", "roppe"), "did you mean rope"),
        (("lm", "compare", "--size", "nano", "-o", "page.png"), "choose .html"),
        (("lm", "compare", "--size", "nano", "--workers", "-1"), "workers must be 0"),
        (("lm", "compare", "--size", "nano"), "no data with a vocabulary of 4,096 is prepared"),
        (("lm", "compare", "--size", "nano", "seed=3"), "seed was given twice"),
        (("study", "run", "masked", "--store", "elsewhere"), "name --checkpoints"),
        (("study", "run", "masked", "--executor", "ray"), "leave --executor out"),
        (("study", "report", "s4-k-back", "--checkpoints", "here"), "which s4-k-back is not"),
    ],
)
def test_bad_input_is_one_sentence(ordinate: Program, command: tuple[str, ...], words: str) -> None:
    done = ordinate(*command)
    assert done.code == 2 and words in done.err and "Traceback" not in done.err


def test_studies_of_language_models_are_listed_and_reported_by_name(ordinate: Program) -> None:
    listed = {row["name"] for row in json.loads(ordinate("list", "studies", "--json").out)}
    assert {"s2-language-models", "context-extension", "drop", "masked", "s4-k-back"} <= listed
    assert ordinate("report", "masked").code == 0
