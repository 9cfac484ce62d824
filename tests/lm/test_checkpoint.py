"""Checkpoints: whole, checked before use, and never code."""

import pickle
import resource
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.lm.config import Options
from ordinate.lm.ranks import Ranks
from ordinate.lm.trainer import LMTrainer
from ordinate.text.corpus import Corpus
from ordinate.training import checkpoint
from ordinate.training.checkpoint import TrainingState

from .small import DEVICE, small_config

OPTIONS = Options(device=DEVICE)


def _save(path: Path, recipe: LMTrainer) -> None:
    tensors = checkpoint.collect(recipe.model, recipe.optimizer)
    checkpoint.save(path, "me", tensors, TrainingState(recipe.step, 0.5, 0))


def _load(path: Path, recipe: LMTrainer) -> TrainingState:
    return checkpoint.load(path, "me", recipe.model, recipe.optimizer, TrainingState, last=1000)


@pytest.fixture
def trainer(corpus: Corpus) -> LMTrainer:
    made = LMTrainer(small_config(corpus), corpus, OPTIONS, Ranks())
    made.train_step()
    return made


@pytest.fixture
def path(trainer: LMTrainer, tmp_path: Path) -> Path:
    _save(tmp_path / "latest.pt", trainer)
    return tmp_path / "latest.pt"


def test_what_was_saved_comes_back(trainer: LMTrainer, path: Path, corpus: Corpus) -> None:
    other = LMTrainer(small_config(corpus, seed=7), corpus, OPTIONS, Ranks())
    rest = _load(path, other)
    assert rest == TrainingState(1, 0.5, 0)
    other.config, other.rows, other.step = trainer.config, trainer.rows, rest.step
    for made in (trainer, other):
        made.train_step()
    for a, b in zip(trainer.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_full_disk_is_named_as_such_and_the_last_checkpoint_stays(trainer: LMTrainer, path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            _save(path, trainer)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.filename == str(path)
    assert list(path.parent.iterdir()) == [path] and _load(path, trainer).step == 1


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
    trainer: LMTrainer, path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    with pytest.raises(InputError, match="move it away"):
        _load(path, trainer)
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))


class Evil:
    """Would make a file if it were loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return open, (str(self.target), "w")


@pytest.mark.parametrize("how", ["torch", "pickle", "cut", "garbage", "empty"])
def test_a_hostile_or_damaged_file_is_refused_and_runs_nothing(trainer: LMTrainer, path: Path, how: str) -> None:
    evil, data = Evil(path.with_name("evil")), path.read_bytes()
    match how:
        case "torch":
            torch.save({"schema": checkpoint.SCHEMA, "owner": "me", "model": evil}, path)
        case "pickle":
            path.write_bytes(pickle.dumps(evil))
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "garbage":
            path.write_bytes(bytes(range(256)) * 100)
        case "empty":
            path.write_bytes(b"")
    with pytest.raises(InputError, match="not a checkpoint"):
        _load(path, trainer)
    assert not evil.target.exists()


def test_what_an_encoding_drew_at_its_start_is_in_a_checkpoint(corpus: Corpus, tmp_path: Path) -> None:
    """Some keep what they drew as buffers, which no optimizer knows."""
    made, other = (LMTrainer(small_config(corpus, "fope", seed=seed), corpus, OPTIONS, Ranks()) for seed in (1, 2))
    _save(tmp_path / "latest.pt", made)
    _load(tmp_path / "latest.pt", other)
    assert made.validate() == other.validate()


def _save_forever(path: Path, steps: Connection) -> None:
    part = torch.zeros(200_000)
    for step in range(1, 10_000):
        moments = {"w": {"step": torch.tensor(float(step)), "exp_avg": part, "exp_avg_sq": part}}
        tensors = checkpoint.SavedTensors({"w": torch.full((200_000,), float(step))}, moments)  # type: ignore[arg-type]
        checkpoint.save(path, "me", tensors, TrainingState(step, 0.0, 0))
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
        optimizer = torch.optim.AdamW(model.parameters())
        rest = checkpoint.load(path, "me", model, optimizer, TrainingState, last=10_000)
        assert torch.equal(model.w, torch.full((200_000,), float(rest.step)))
