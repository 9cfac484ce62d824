"""What is known of a folder of checkpoints without opening a model."""

import json
import shutil
from pathlib import Path

import pytest

from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.budgets import branches
from ordinate.lm.config import Options
from ordinate.lm.segment import SegmentBounds, segment_of
from ordinate.lm.stored_models import read_model, read_with_trunk, stored_models
from ordinate.store.claim import Claim
from ordinate.store.files import Journal
from ordinate.text.corpus import Corpus
from ordinate.training.interruption import Interrupted

from .small import DEVICE, decay, small_config


@pytest.fixture(scope="module")
def root(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two budgets from one trunk."""
    config, folder = small_config(corpus), tmp_path_factory.mktemp("stored")
    planned = branches(config, [8 * config.step_tokens, 16 * config.step_tokens], decay)
    BranchedTraining(config, corpus, folder, Options(device=DEVICE, log_every=1, valid_tokens=64)).run(planned)
    return folder


def test_a_budget_has_the_curve_of_its_trunk_up_to_its_branch_point(root: Path) -> None:
    models, damaged = stored_models(root)
    assert sorted(models) == ["nano_rope_1.024k_s42", "nano_rope_512_s42", "nano_rope_trunk_s42"] and not damaged
    assert [models[name].state for name in sorted(models)] == ["done", "done", "trunk"]
    small, trunk = models["nano_rope_512_s42"], models["nano_rope_trunk_s42"]
    assert small.seedless_name == "nano_rope_512" and small.parent == trunk.name and small.branch is not None
    tokens, losses = zip(*small.points(models)["loss"], strict=True)
    assert tokens == tuple(64 * step for step in range(1, 9))
    assert losses[: small.branch.begin] == tuple(v for _, v in trunk.points(models)["loss"][: small.branch.begin])
    own = [line["loss"] for line in Journal(small.folder / "metrics.jsonl").read()]
    assert list(losses[small.branch.begin :]) == own
    assert small.segment == SegmentBounds(small.branch.begin, 8) and read_with_trunk(small.folder)[1].keys() == {
        trunk.name
    }


def test_a_model_under_way_says_where_it_trains_to(corpus: Corpus, tmp_path: Path) -> None:
    config, seen = small_config(corpus), list[str]()
    planned = branches(config, [16 * config.step_tokens], decay)

    def stop() -> bool:
        models, _ = stored_models(tmp_path)
        seen.extend(f"{model.state} {model.segment}" for model in models.values())
        return len(seen) == 3

    with pytest.raises(Interrupted):
        BranchedTraining(config, corpus, tmp_path, Options(device=DEVICE)).run(planned, stop=stop)
    assert set(seen) == {"running SegmentBounds(begin=0, end=11)"}
    assert read_model(tmp_path / "nano_rope_trunk_s42").state == "trunk"


def test_what_is_damaged_is_named_and_hides_nothing_else(root: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(root, tmp_path / "checkpoints"))
    (copy / "nano_rope_512_s42" / "run.json").write_text("[]")
    (copy / "nano_rope_trunk_s42" / "segment.json").write_text("{")
    (copy / "notes.txt").write_text("mine")
    models, damaged = stored_models(copy)
    assert sorted(models) == ["nano_rope_1.024k_s42", "nano_rope_trunk_s42"]
    assert "run.json is damaged" in damaged["nano_rope_512_s42"]
    assert segment_of(copy / "nano_rope_trunk_s42") is None
    with pytest.raises(InputError, match="is not a folder"):
        stored_models(copy / "notes.txt")
    assert stored_models(tmp_path / "nothing") == ({}, {})


def test_a_claim_of_a_dead_process_is_no_training(root: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(root, tmp_path / "checkpoints"))
    folder = copy / "nano_rope_512_s42"
    (folder / "result.json").unlink()
    assert read_model(folder).state == "stopped"
    with Claim(folder / "claim").locked() as lock:
        claim = Claim(folder / "claim")
        assert claim.take(lock)
    assert read_model(folder).state == "running"
    claim.free()
    (folder / "claim").write_text(json.dumps({"pid": 1}))
    assert read_model(folder).state == "stopped"
