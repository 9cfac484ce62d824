"""Two processes against one: the same data, and the same weights but for last bits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.config import Options
from ordinate.lm.ranks import Ranks, spread
from ordinate.lm.trainer import LMTrainer
from ordinate.text.corpus import Corpus

from .small import DEVICE, decay, small_config

STEPS = 10
SCRIPT = Path(__file__).with_name("two_ranks.py")


@pytest.fixture(scope="module")
def together(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two ranks made, with copies and with shards; started once, because that takes seconds."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(SCRIPT)]
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, str(corpus.folder), str(folder)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def _alone(corpus: Corpus) -> LMTrainer:
    trainer = LMTrainer(small_config(corpus), corpus, Options(device=DEVICE), Ranks())
    for _ in range(STEPS):
        trainer.train_step()
    return trainer


@pytest.mark.slow
@pytest.mark.parametrize("shard", ["none", "fsdp2"])
def test_two_ranks_learn_what_one_learns(together: Path, corpus: Corpus, shard: str) -> None:
    alone = _alone(corpus)
    kept = torch.load(together / f"{shard}.pt", weights_only=True)
    for name, weight in alone.model.named_parameters():
        torch.testing.assert_close(kept["model"][name], weight.detach().cpu(), rtol=0, atol=1e-5, msg=name)
    scores = json.loads((together / f"{shard}.json").read_text())
    assert scores["valid_loss"] == pytest.approx(alone.validate().valid_loss, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("shard", ["none", "fsdp2"])
def test_one_process_goes_on_with_what_two_ranks_began(together: Path, corpus: Corpus, shard: str) -> None:
    """They stopped in the trunk; one process finishes it and its branch."""
    from ordinate.lm.budgets import branches

    config = small_config(corpus)
    planned = branches(config, [12 * config.step_tokens], decay)
    options = Options(device=DEVICE, valid_tokens=64)
    (mixed,) = BranchedTraining(config, corpus, together / f"training-{shard}", options).run(planned)
    (alone,) = BranchedTraining(config, corpus, together / f"alone-{shard}", options).run(planned)
    found, wanted = (torch.load(folder / "latest.pt", weights_only=True)["model"] for folder in (mixed, alone))
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=0, atol=1e-5, msg=name)


def test_shards_need_several_processes(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="torchrun"):
        spread(torch.nn.Linear(2, 2), Ranks(), "fsdp2")
