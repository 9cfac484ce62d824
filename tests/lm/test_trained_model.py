"""Trained models are opened from a user's path: what is found there is checked, and code is never loaded."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches, change_branch
from ordinate.lm.config import Options
from ordinate.lm.trained_model import open_trained
from ordinate.text.corpus import Corpus
from ordinate.training import checkpoint

from .small import DEVICE, decay, small_config


@pytest.fixture(scope="session")
def trained(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a budget, beside its trunk."""
    config, root = small_config(corpus), tmp_path_factory.mktemp("trained")
    planned = branches(config, [8 * config.step_tokens], decay)
    (folder,) = BranchedTraining(config, corpus, root / "checkpoints", Options(device=DEVICE)).run(planned)
    return folder


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    """The same, free to be damaged."""
    return shutil.copytree(trained, tmp_path / "checkpoints" / trained.name)


def test_a_folder_and_its_checkpoint_give_the_same_decayed_model(trained: Path, corpus: Corpus) -> None:
    one, two = open_trained(trained), open_trained(trained / "latest.pt")
    assert one.sha256 == two.sha256 == checkpoint.fingerprint(trained / "latest.pt")
    assert one.decayed and not one.undecayed_remark and one.step == 8 and one.tokens == 8 * 64
    tokens = torch.arange(12)[None]
    with torch.no_grad():
        assert torch.equal(one.model(tokens), two.model(tokens))
    saved = torch.load(trained / "latest.pt", weights_only=True)["model"]
    assert all(torch.equal(saved[name], weight) for name, weight in one.model.state_dict().items())
    assert one.find_corpus(corpus.folder).fingerprint == corpus.fingerprint


def test_a_trunk_is_opened_and_said_not_to_be_decayed(trained: Path) -> None:
    (trunk,) = trained.parent.glob("*trunk*")
    (point,) = trunk.glob("branch_*.pt")
    for path in (trunk, point):
        opened = open_trained(path)
        assert not opened.decayed and "has not decayed" in opened.undecayed_remark


def test_a_branch_that_changed_its_encoding_has_the_new_one(corpus: Corpus, tmp_path: Path) -> None:
    config = small_config(corpus)
    (plain,) = branches(config, [8 * config.step_tokens], decay)
    changed = change_branch(config, plain, "alibi", 32, None)
    (folder,) = BranchedTraining(config, corpus, tmp_path, Options(device=DEVICE)).run([changed])
    opened = open_trained(folder)
    assert opened.decayed and opened.config.encoding == "alibi" and opened.config.model.length == 32
    assert opened.tokens == 8 * config.step_tokens


def test_its_corpus_is_found_beside_the_checkpoints(copied: Path, corpus: Corpus, tmp_path: Path) -> None:
    opened = open_trained(copied)
    with pytest.raises(InputError, match="--data"):
        opened.find_corpus()
    shutil.copytree(corpus.folder, tmp_path / "data" / "mine")
    assert opened.find_corpus().folder == tmp_path / "data" / "mine"


class Hostile:
    """Would make a file if it were loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return open, (str(self.target), "w")


def _edit(path: Path, **change: Any) -> None:
    content = json.loads(path.read_text())
    content["identity"] |= change
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("hostile", "is not a checkpoint"),
        ("cut", "is not a checkpoint"),
        ("other text", "is not a checkpoint"),
        ("weight", "damaged"),
        ("another", "damaged \\(not what"),
        ("no run", "no run.json beside it"),
        ("no checkpoint", "holds no latest.pt"),
        ("no identity", "damaged"),
        ("other configuration", "another configuration"),
        ("unknown setting", "cannot be used: unknown key"),
        ("no table", "cannot be used"),
    ],
)
def test_what_is_no_checkpoint_is_refused_in_one_sentence(copied: Path, what: str, sentence: str) -> None:
    latest, run, evil = copied / "latest.pt", copied / "run.json", copied / "evil"
    if what != "another":  # without a result, there is no hash to compare with
        (copied / "result.json").unlink()
    content = torch.load(latest, weights_only=True)
    trunk = json.loads(run.read_text())["identity"]["trunk"]
    match what:
        case "hostile":
            torch.save(content | {"model": Hostile(evil)}, latest)
        case "cut":
            latest.write_bytes(latest.read_bytes()[:1000])
        case "other text":
            latest.write_text("not a checkpoint")
        case "another":
            content["model"]["norm.weight"] += 1
            torch.save(content, latest)
        case "weight":
            torch.save(content | {"model": content["model"] | {"embedding.weight": torch.zeros(3)}}, latest)
        case "no run":
            run.unlink()
        case "no checkpoint":
            latest.unlink()
        case "no identity":
            run.write_text("[]")
        case "other configuration":
            _edit(run, trunk=trunk | {"lr": 1.0})
        case "unknown setting":
            _edit(run, trunk=trunk | {"temperature": 1.0})
        case "no table":
            _edit(run, trunk=3)
    with pytest.raises(InputError, match=sentence):
        open_trained(copied)
    assert not evil.exists()
