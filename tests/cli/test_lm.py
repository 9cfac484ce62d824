"""`ordinate lm` as a user meets it: sizes, a plan, training to two budgets, stops."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ordinate.text.prepare import prepare
from ordinate.text.request import request
from ordinate.training import checkpoint

from .conftest import Forked, Program

SMALL = ("dim=16", "layers=1", "heads=2", "length=16", "batch=4", "warmup=2", "vocabulary=300")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to work in, with data as `lm prepare` leaves it."""
    place = tmp_path_factory.mktemp("work")
    (place / "notes").mkdir()
    for number in range(100):
        (place / "notes" / f"{number}.txt").write_text(f"{number} " + "one two three " * (number % 7 + 1))
    prepare(request(f"text:{place / 'notes'}", vocabulary=300, valid=0.1), place / "data" / "notes", workers=0)
    return place


def test_sizes_are_a_table_or_json(ordinate: Program) -> None:
    rows = json.loads(ordinate("lm", "sizes", "--json").out)
    assert {row["size"]: row["parameters"] for row in rows}["tiny"] == 58_727_680
    table = ordinate("lm", "sizes", "-e", "learned")
    assert table.code == 0 and "1,208,029,184" in table.out and "2.4B" in table.out


def test_sizes_load_neither_a_compiler_nor_the_trainer() -> None:
    script = (
        "import sys; from ordinate.cli import app; app(['lm', 'sizes'], standalone_mode=False); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "ordinate.lm.sizes" in loaded
    assert not {"torch._dynamo", "sympy", "ordinate.training", "ordinate.store"} & set(loaded)


@pytest.mark.slow
def test_two_budgets_in_one_command_and_nothing_twice(ordinate: Program, folder: Path, tmp_path: Path) -> None:
    command = (
        "lm", "train", "--size", "nano", "-e", "rope", "--budget", "1k,2k", "--data", str(folder / "data" / "notes"),
        "--checkpoints", str(tmp_path), "--threads", "1", *SMALL,
    )  # fmt: skip
    planned = json.loads(ordinate("lm", "plan", *command[2:12], *SMALL, "--json").out)
    assert [segment["what"] for segment in planned["segments"]] == ["trunk", "branch", "trunk", "branch"]
    assert planned["tokens"] < planned["separate_tokens"]
    done = ordinate(*command)
    assert done.code == 0, done.err
    assert "nano_rope_trunk_s42" in done.err and "tokens/s" in done.err
    assert [line.split()[0].rpartition("/")[2] for line in done.out.splitlines()[1:]] == [
        "nano_rope_1k_s42", "nano_rope_2k_s42",
    ]  # fmt: skip
    again = ordinate(*command, "--json")
    assert "tokens/s" not in again.err and again.err.count("done") == 2
    results = json.loads(again.out)
    assert [row["tokens"] for row in results] == [1024, 1984]
    assert results[1]["valid_loss"] < results[0]["valid_loss"] < 5.8


def _command(folder: Path, place: Path) -> list[str]:
    return [
        "lm", "train", "--size", "nano", "-e", "rope",
        "--budget", "6k", "--data", str(folder / "data" / "notes"), "--threads", "1", "--save-every", "1", *SMALL,
        "--checkpoints", str(place),
    ]  # fmt: skip


def _weights(place: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = torch.load(place / "nano_rope_6k_s42" / "latest.pt", weights_only=True)["model"]
    return found


@pytest.fixture(scope="module")
def straight(folder: Path) -> dict[str, torch.Tensor]:
    """What a run without a stop ends with."""
    assert Forked(*_command(folder, folder / "straight")).wait() == 0
    return _weights(folder / "straight")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_stop_is_gone_on_from(
    folder: Path, straight: dict[str, torch.Tensor], tmp_path: Path, how: signal.Signals
) -> None:
    """SIGTERM saves where it is; SIGKILL loses what came after the last checkpoint. Both end like a straight run."""
    process = Forked(*_command(folder, tmp_path))
    for line in process.stderr:
        if "validation" in line:  # the trunk is at its end, the branch still ahead
            break
    os.kill(process.pid, how)
    said = process.stderr.read()
    code = process.wait()
    assert code in (0, 130, -signal.SIGKILL)
    assert code != 130 or "start again to resume" in said
    assert Forked(*_command(folder, tmp_path)).wait() == 0
    found = _weights(tmp_path)
    assert all(torch.equal(found[name], straight[name]) for name in straight)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--size", "tyny"), "did you mean tiny"),
        (("--size", "nano", "--budget", "lots"), "expected a number of tokens"),
        (("--size", "nano", "--budget", "64"), "no plateau"),
        (("--size", "nano", "--budget", "10k,10k"), "same step"),
        (("--size", "nano", "--data", "nowhere"), "nowhere"),
        (("--size", "nano", "--data", "empty"), "empty"),
        (("--size", "nano", "--shard", "fsdp3"), "fsdp2"),
        (("--size", "nano", "--shard", "fsdp2", "--budget", "10k"), "torchrun"),
        (("--size", "nano", "--track", "nothing"), "no tracker"),
        (("--size", "nano", "--micro-batch", "0"), "at least 1"),
        (("--size", "nano", "vocabulary=8"), "vocabulary"),
        (("--size", "nano", "length=100000"), "length"),
        (("--size", "nano", "color=red"), "unknown key color"),
        (("--size", "nano", "--branch-at", "0.5"), "add --branch-encoding"),
        (("--size", "nano", "--branch-length", "0"), "at least 1"),
        (("--size", "nano", "--budget", "10k", "--branch-encoding", "nothing"), "unknown encoding"),
        (("--size", "nano", "--budget", "10k", "--branch-encoding", "none", "--branch-at", "0.95"), "up to the decay"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_two(
    ordinate: Program, folder: Path, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (folder / "empty").mkdir(exist_ok=True)
    given = [*arguments] + ([] if "--data" in arguments else ["--data", str(folder / "data" / "notes")])
    given += [pair for pair in SMALL if not any(a.startswith(pair.partition("=")[0] + "=") for a in arguments)]
    done = ordinate("lm", "train", "-e", "rope", "--checkpoints", str(tmp_path / "made"), *given)
    assert done.code == 2, done.err
    said = [line for line in done.err.splitlines() if line.startswith("ordinate: ")]
    assert len(said) == 1 and sentence in said[0]
    assert not list(tmp_path.glob("made/**/latest.pt"))


def test_data_that_is_not_prepared_is_asked_for(ordinate: Program) -> None:
    done = ordinate("lm", "plan", "--size", "nano", "-e", "rope")
    assert done.code == 2 and "ordinate lm prepare" in done.err


def test_a_checkpoint_of_something_else_is_left_alone(ordinate: Program, folder: Path, tmp_path: Path) -> None:
    command = (
        "lm", "train", "--size", "nano", "-e", "rope", "--budget", "1k", "--data", str(folder / "data" / "notes"),
        "--checkpoints", str(tmp_path), "--threads", "1", *SMALL,
    )  # fmt: skip
    stranger = tmp_path / "nano_rope_trunk_s42" / "latest.pt"
    stranger.parent.mkdir()
    state = checkpoint.TrainingState(3, 0.0, 0)
    checkpoint.save(stranger, "another", checkpoint.SavedTensors({}, {}), state)
    before = stranger.read_bytes()
    done = ordinate(*command)
    assert done.code == 2 and "belongs to another configuration" in done.err
    assert stranger.read_bytes() == before
