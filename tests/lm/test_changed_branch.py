"""Branches that change the encoding or the context: what they keep, where the rest starts, and that they are exact."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining, plan_segments
from ordinate.lm.budgets import (
    Branch,
    ChangedBranch,
    branch_config,
    branch_schedule,
    branches,
    change_branch,
    read_branch,
)
from ordinate.lm.checkpoint_folder import branch_folder, result_of, trunk_folder
from ordinate.lm.config import Options
from ordinate.lm.ranks import Ranks
from ordinate.lm.trainer import LMTrainer
from ordinate.model import Transformer
from ordinate.text.corpus import Corpus
from ordinate.training.interruption import Interrupted

from .small import DEVICE, decay, small_config

OPTIONS = Options(device=DEVICE, log_every=4, valid_every=100, valid_tokens=64, save_every=0.0)
CHANGES = {
    "none": ("none", None, None),
    "yarn": ("rope(scaling=yarn,factor=2,original=16)", 32, None),
    "learned": ("learned", None, 0.5),
    "content": ("fox", None, None),
    "context": (None, 32, 0.5),
}


def _branch(corpus: Corpus, kind: str, encoding: str = "rope") -> ChangedBranch:
    config = small_config(corpus, encoding)
    (plain,) = branches(config, [10 * config.step_tokens], decay)
    return change_branch(config, plain, *CHANGES[kind])


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = torch.load(folder / "latest.pt", weights_only=True)["model"]
    return found


@pytest.mark.parametrize("kind", CHANGES)
def test_a_changed_branch_goes_on_from_the_trunk_and_is_exact_through_a_stop(
    corpus: Corpus, tmp_path: Path, kind: str
) -> None:
    """Against a plain loop: a model of the new configuration, with what the trunk has learned copied into it."""
    config, branch = small_config(corpus), _branch(corpus, kind)
    training = BranchedTraining(config, corpus, tmp_path, OPTIONS)
    counted = iter(range(1, 100))
    with pytest.raises(Interrupted):  # in the branch, one step after its start
        training.run([branch], stop=lambda: next(counted) > branch.begin)
    (folder,) = training.run([branch])

    saved = torch.load(trunk_folder(tmp_path, config).branch_point(branch.begin), weights_only=True)
    trainer = LMTrainer(config, corpus, OPTIONS, Ranks(), branch)
    fresh = Transformer(branch_config(config, branch).model, seed=config.seed).state_dict()
    for name, weight in trainer.model.state_dict(keep_vars=True).items():
        if name not in saved["model"]:
            assert name.startswith("encodings.") and torch.equal(weight.cpu(), fresh[name])
            continue
        weight.data.copy_(saved["model"][name])
        moments = saved["optimizer"][name]
        trainer.optimizer.state[weight] = {part: value.clone() for part, value in moments.items()}
    trainer.step = branch.begin
    while trainer.step < branch.end:
        trainer.train_step()
    found, wanted = _weights(folder), trainer.model.state_dict()
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name].cpu()) for name in wanted)
    result = result_of(folder)
    assert result is not None and result.tokens == branch.end * config.step_tokens


def test_an_encodings_own_weights_are_kept_if_they_fit(corpus: Corpus, tmp_path: Path) -> None:
    config = small_config(corpus, "t5")
    (plain,) = branches(config, [10 * config.step_tokens], decay)
    longer = change_branch(config, plain, None, 32, None)
    training = BranchedTraining(config, corpus, tmp_path, replace(OPTIONS, keep=9))
    (folder,) = training.run([longer])
    trunk, first = (
        torch.load(path, weights_only=True)
        for path in (trunk_folder(tmp_path, config).branch_point(plain.begin), folder / "step_000000008.pt")
    )
    (name,) = (name for name in trunk["model"] if name.startswith("encodings."))
    assert first["optimizer"][name]["step"] == trunk["optimizer"][name]["step"] + 1


def test_names_versions_and_what_is_read_back(corpus: Corpus, tmp_path: Path) -> None:
    config = small_config(corpus)
    names = {kind: branch_folder(tmp_path, config, _branch(corpus, kind)).path.name for kind in CHANGES}
    assert names == {
        "none": "nano_rope_640_to_none_s42",
        "yarn": "nano_rope_640_to_rope-factor=2,original=16,scaling=yarn_32_s42",
        "learned": "nano_rope_640_to_learned_s42",
        "content": "nano_rope_640_to_fox_s42",
        "context": "nano_rope_640_to_rope_32_s42",
    }
    for kind in CHANGES:
        branch = _branch(corpus, kind)
        assert read_branch(to_dict(branch)) == branch
    (plain,) = branches(config, [640], decay)
    assert read_branch(to_dict(plain)) == plain and type(read_branch(to_dict(plain))) is Branch
    segments = [(s.what, s.begin, s.end) for s in plan_segments(tmp_path, config, [_branch(corpus, "learned")])]
    assert segments == [("trunk", 0, 5), ("branch", 5, 10)]


def test_the_rate_is_constant_up_to_the_decay(corpus: Corpus) -> None:
    config, branch = small_config(corpus), _branch(corpus, "learned")
    (plain,) = branches(config, [640], decay)
    assert branch.begin < branch.decay_begin == plain.begin
    changed, usual = branch_schedule(config, branch), branch_schedule(config, plain)
    assert [changed.rate(step) for step in range(10)] == [usual.rate(step) for step in range(10)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("none", 24, None), "which sequences of 24 do not fill"),
        (("segment", None, None), "which text does not have"),
        (("ropes", None, None), "did you mean rope"),
        (("none", None, 0.1), "after the warm-up"),
        (("none", None, 0.9), "up to the decay"),
        (("none", 10**6, None), "do not fill"),
    ],
)
def test_changes_that_cannot_be_are_refused(
    corpus: Corpus, change: tuple[str, int | None, float | None], why: str
) -> None:
    config = small_config(corpus)
    (plain,) = branches(config, [640], decay)
    with pytest.raises(InputError, match=why):
        change_branch(config, plain, *change)
