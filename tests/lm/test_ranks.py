"""Two processes against one: the same data, and the same weights but for last bits."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining
from ordinate.lm.config import Options
from ordinate.lm.ranks import Ranks, joined, spread
from ordinate.lm.trainer import LMTrainer
from ordinate.text.corpus import Corpus

from .small import DEVICE, SMALL, decay, small_config

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


@pytest.mark.slow
@pytest.mark.parametrize("shard", ["none", "fsdp2"])
def test_two_ranks_that_stopped_end_like_two_that_did_not(together: Path, shard: str) -> None:
    folders = (together / f"{name}-{shard}" / "nano_rope_768_s42" for name in ("resumed", "straight"))
    found, wanted = (torch.load(folder / "latest.pt", weights_only=True) for folder in folders)
    assert all(torch.equal(found["model"][name], wanted["model"][name]) for name in wanted["model"])
    for name, moments in wanted["optimizer"].items():
        assert all(torch.equal(found["optimizer"][name][part], moments[part]) for part in moments)


@pytest.mark.slow
def test_a_rank_that_dies_is_a_sentence_and_the_other_can_be_started_again(corpus: Corpus, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "ordinate", "lm", "train", "--size", "nano", "-e", "rope", "--budget", "1M",
        "--data", str(corpus.folder), "--checkpoints", str(tmp_path), "--threads", "1", "--valid-every", "1",
        "--valid-tokens", "1", "--save-every", "1", "--device", DEVICE,
        *(f"{name}={value}" for name, value in SMALL.items()),
    ]  # fmt: skip
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path), "WORLD_SIZE": "2"}
    env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    first, second = (
        subprocess.Popen(command, env=env | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, stderr=pipe, text=True)
        for rank, pipe in enumerate((subprocess.PIPE, subprocess.DEVNULL))
    )
    assert first.stderr is not None
    with first.stderr as said:
        for line in said:
            if "validation" in line:
                break
        second.kill()
        last = said.read().splitlines()[-1]
    assert (first.wait(), second.wait()) == (1, -9)
    assert last.startswith("ordinate: another process of this training ended") and "start again to resume" in last
    assert not (tmp_path / "nano_rope_trunk_s42" / "claim").exists()


def test_each_rank_takes_its_device_before_the_group_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, object]] = []
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: calls.append(("device", device)))
    monkeypatch.setattr(dist, "init_process_group", lambda backend: calls.append(("group", backend)))
    monkeypatch.setattr(dist, "get_rank", lambda: 3)
    monkeypatch.setattr(dist, "destroy_process_group", lambda: None)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_RANK", "1")
    with joined(torch.device("cuda")) as ranks:
        assert ranks == Ranks(3, 4, 1) and ranks.device(torch.device("cuda")) == torch.device("cuda", 1)
    assert calls == [("device", 1), ("group", "cpu:gloo,cuda:nccl")]


def test_shards_need_several_processes(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="torchrun"):
        spread(torch.nn.Linear(2, 2), Ranks(), "fsdp2")
