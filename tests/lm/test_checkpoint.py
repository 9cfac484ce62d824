"""Checkpoints: whole, checked before use, and never code."""

import pickle
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.lm import checkpoint
from ordinate.lm.ranks import Ranks
from ordinate.lm.trainer import Options, Trainer
from ordinate.text.corpus import Corpus

from .small import DEVICE, small_config

OPTIONS = Options(device=DEVICE)


@pytest.fixture
def trainer(corpus: Corpus) -> Trainer:
    made = Trainer(small_config(corpus), corpus, OPTIONS, Ranks())
    made.advance()
    return made


@pytest.fixture
def path(trainer: Trainer, tmp_path: Path) -> Path:
    checkpoint.save(tmp_path / "latest.pt", "me", {**trainer.state(), "journal": 0})
    return tmp_path / "latest.pt"


def test_what_was_saved_comes_back(trainer: Trainer, path: Path, corpus: Corpus) -> None:
    other = Trainer(small_config(corpus, seed=7), corpus, OPTIONS, Ranks())
    rest = checkpoint.load(path, "me", other.model, other.optimizer)
    assert rest["step"] == 1
    other.config, other.step = trainer.config, rest["step"]
    for made in (trainer, other):
        made.advance()
    for a, b in zip(trainer.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a, b)


def _without(*keys: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        *path, last = keys
        for key in path:
            content = content[key]
        del content[last]

    return change


def _setting(*keys: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        *path, last = keys
        for key in path:
            content = content[key]
        content[last] = value

    return change


_NAME = "embedding.weight"


@pytest.mark.parametrize(
    "change",
    [
        _without("schema"), _without("owner"), _without("model"), _without("optimizer"), _without("step"),
        _without("journal"), _without("model", _NAME), _without("optimizer", _NAME),
        _without("optimizer", _NAME, "exp_avg"),
        _setting("owner", value="another"), _setting("schema", value=99), _setting("step", value=-1),
        _setting("step", value=1e9), _setting("step", value=True), _setting("journal", value="x"),
        _setting("model", value=[1]), _setting("model", _NAME, value=torch.zeros(3)),
        _setting("model", _NAME, value="text"), _setting("model", _NAME, value=torch.zeros(300, 16).double()),
        _setting("optimizer", _NAME, value=5), _setting("optimizer", _NAME, "exp_avg", value=torch.zeros(2, 2)),
        _setting("optimizer", _NAME, "step", value=torch.zeros(5)), _setting("model", "more", value=torch.zeros(1)),
        _setting("seconds", value=float("nan")), _setting("model", _NAME, value=torch.zeros(300, 16, device="meta")),
    ],
)  # fmt: skip
def test_a_changed_checkpoint_is_refused_before_any_of_it_is_used(
    trainer: Trainer, path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    with pytest.raises(InputError, match="move it away"):
        checkpoint.load(path, "me", trainer.model, trainer.optimizer)
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))


class Evil:
    """Would make a file if it were loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return open, (str(self.target), "w")


@pytest.mark.parametrize("how", ["torch", "pickle", "cut", "garbage", "empty"])
def test_a_hostile_or_damaged_file_is_refused_and_runs_nothing(trainer: Trainer, path: Path, how: str) -> None:
    evil, data = Evil(path.with_name("evil")), path.read_bytes()
    match how:
        case "torch":
            torch.save({"schema": 1, "owner": "me", "model": evil}, path)
        case "pickle":
            path.write_bytes(pickle.dumps(evil))
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "garbage":
            path.write_bytes(bytes(range(256)) * 100)
        case "empty":
            path.write_bytes(b"")
    with pytest.raises(InputError, match="no checkpoint"):
        checkpoint.load(path, "me", trainer.model, trainer.optimizer)
    assert not evil.target.exists()


def test_what_an_encoding_drew_at_its_start_is_in_a_checkpoint(corpus: Corpus, tmp_path: Path) -> None:
    """Some keep what they drew as buffers, which no optimizer knows."""
    made, other = (Trainer(small_config(corpus, "fope", seed=seed), corpus, OPTIONS, Ranks()) for seed in (1, 2))
    checkpoint.save(tmp_path / "latest.pt", "me", {**made.state(), "journal": 0})
    checkpoint.load(tmp_path / "latest.pt", "me", other.model, other.optimizer)
    assert made.validate() == other.validate()


def _save_forever(path: Path, steps: Connection) -> None:
    for step in range(10_000):
        state = {"step": step, "journal": 0, "seconds": 0.0, "optimizer": {}}
        checkpoint.save(path, "me", {**state, "model": {"w": torch.full((200_000,), float(step))}})
        steps.send(step)


def test_a_kill_during_saving_leaves_a_checkpoint_that_loads(tmp_path: Path) -> None:
    path, fork = tmp_path / "latest.pt", get_context("fork")  # a new process would first load torch
    for saved in (1, 2, 4):  # killed right after its first, second and fourth checkpoint, in the middle of another
        steps, sender = fork.Pipe(duplex=False)
        process = fork.Process(target=_save_forever, args=(path, sender))
        process.start()
        for _ in range(saved):
            assert steps.poll(60)
            steps.recv()
        process.kill()
        process.join()
        model = torch.nn.Module()
        model.w = torch.nn.Parameter(torch.zeros(200_000))
        rest = checkpoint.load(path, "me", model, torch.optim.AdamW(model.parameters()))
        assert torch.equal(model.w, torch.full((200_000,), float(rest["step"])))
