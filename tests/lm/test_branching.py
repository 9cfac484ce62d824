"""Branches of one trunk: bitwise what a straight run gives, whatever happened on the way."""

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.lm.branching import BranchedTraining, plan_segments
from ordinate.lm.budgets import Branch, branches
from ordinate.lm.checkpoint_folder import branch_folder, result_of, trunk_folder, verify
from ordinate.lm.config import Options
from ordinate.lm.ranks import Ranks
from ordinate.lm.trainer import LMTrainer
from ordinate.store.files import Journal, read_json
from ordinate.text.corpus import Corpus, open_corpus
from ordinate.training import Progress
from ordinate.training.interruption import Interrupted

from .small import DEVICE, decay, small_config

OPTIONS = Options(device=DEVICE, log_every=1, valid_every=5, valid_tokens=64, save_every=0.0)


class Crash(Exception):  # noqa: N818
    """Stands for anything that ends a process."""


def _planned(corpus: Corpus, *steps: int) -> list[Branch]:
    config = small_config(corpus)
    return branches(config, [count * config.step_tokens for count in steps], decay)


def _training(corpus: Corpus, root: Path, **settings: object) -> BranchedTraining:
    return BranchedTraining(small_config(corpus, **settings), corpus, root, OPTIONS)  # type: ignore[arg-type]


def _segments(training: BranchedTraining, planned: list[Branch]) -> list[tuple[str, int, int]]:
    segments = plan_segments(training.root, training.config, planned)
    return [(segment.what, segment.begin, segment.end) for segment in segments]


def _straight(corpus: Corpus, end: Branch) -> dict[str, torch.Tensor]:
    trainer = LMTrainer(small_config(corpus), corpus, OPTIONS, Ranks(), end)
    for _ in range(end.end):
        trainer.train_step()
    return {name: weight.detach().cpu() for name, weight in trainer.model.named_parameters()}


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = torch.load(folder / "latest.pt", weights_only=True)["model"]
    return found


def _assert_same(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> None:
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


def _files(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir() if p.name != "heartbeat"}


def _crashing(*at: tuple[str, int]) -> object:
    """Ends training when a segment comes to a step, each time once."""
    left = list(at)

    def watch(now: Progress) -> None:
        if left and left[0][0] in now.name and now.step >= left[0][1]:
            left.pop(0)
            raise Crash

    return watch


def test_branches_are_straight_runs_bitwise(corpus: Corpus, tmp_path: Path) -> None:
    planned = _planned(corpus, 10, 20)
    folders = _training(corpus, tmp_path).run(planned)
    assert [folder.name for folder in folders] == ["nano_rope_640_s42", "nano_rope_1.28k_s42"]
    for folder, end in zip(folders, planned, strict=True):
        _assert_same(_weights(folder), _straight(corpus, end))


def test_interruptions_of_trunk_and_branch_leave_no_trace(corpus: Corpus, tmp_path: Path) -> None:
    planned = _planned(corpus, 10, 20)
    straight = _training(corpus, tmp_path / "straight").run(planned)
    training, watch = (
        _training(corpus, tmp_path / "broken"),
        _crashing(("trunk", 4), ("640", 8), ("trunk", 12), ("1.28k", 17)),
    )
    for _ in range(4):
        with pytest.raises(Crash):
            training.run(planned, watch)  # type: ignore[arg-type]
    for whole, broken in zip(straight, training.run(planned, watch), strict=True):  # type: ignore[arg-type]
        _assert_same(_weights(broken), _weights(whole))
        told = [list(Journal(folder / "metrics.jsonl").read()) for folder in (whole, broken)]
        timed = ("tokens_per_second", "mfu")
        plain = [[{k: v for k, v in row.items() if k not in timed} for row in rows] for rows in told]
        assert plain[0] == plain[1]


def test_a_larger_budget_later_extends_the_trunk_and_leaves_the_old_branch_alone(
    corpus: Corpus, tmp_path: Path
) -> None:
    training = _training(corpus, tmp_path)
    small, large = _planned(corpus, 10, 20)
    (old,) = training.run([small])
    before = _files(old)
    assert _segments(training, [small, large]) == [
        ("branch", 10, 10), ("trunk", 7, 14), ("branch", 14, 20),
    ]  # fmt: skip
    (new,) = training.run([large])
    assert _files(old) == before
    _assert_same(_weights(new), _straight(corpus, large))


def test_a_smaller_budget_later_goes_over_old_ground(corpus: Corpus, tmp_path: Path) -> None:
    training = _training(corpus, tmp_path)
    small, middle, large = _planned(corpus, 10, 16, 20)
    training.run([small, large])
    trunk = trunk_folder(tmp_path, training.config).path
    before = _files(trunk)
    assert _segments(training, [middle]) == [
        ("replay", 7, 11), ("branch", 11, 16),
    ]  # fmt: skip
    (folder,) = training.run([middle])
    _assert_same(_weights(folder), _straight(corpus, middle))
    after = _files(trunk)
    assert after.pop("branch_000000011.pt") and after == before


def test_what_is_done_is_not_done_again(corpus: Corpus, tmp_path: Path) -> None:
    training = _training(corpus, tmp_path)
    planned = _planned(corpus, 10)
    (folder,) = training.run(planned)
    before, seen = _files(folder), list[Progress]()
    assert training.run(planned, seen.append) == [folder]
    assert seen == [] and _files(folder) == before


def test_another_configuration_gets_another_folder_and_says_what_differs(corpus: Corpus, tmp_path: Path) -> None:
    planned = _planned(corpus, 10)
    (first,) = _training(corpus, tmp_path).run(planned)
    other = _training(corpus, tmp_path, lr=0.01)
    folder = branch_folder(tmp_path, other.config, planned[0])
    assert folder.path.name == f"{first.name}_v2"
    assert folder.difference == ("trunk.lr: 0.006 there, 0.01 here",)
    (second,) = other.run(planned)
    assert second == folder.path and first.exists()
    assert branch_folder(tmp_path, other.config, planned[0]).path == second  # found again


def test_a_branch_names_its_parent(corpus: Corpus, tmp_path: Path) -> None:
    (folder,) = _training(corpus, tmp_path).run(_planned(corpus, 10))
    kept = read_json(folder / "run.json")
    parent = tmp_path / kept["parent"]
    assert hashlib.sha256(parent.read_bytes()).hexdigest() == kept["parent_sha256"]


def _change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_finished_weights_that_changed_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    (folder,) = _training(corpus, tmp_path).run(_planned(corpus, 10))
    kept = read_json(folder / "result.json")["files"]["latest.pt"]
    assert kept == hashlib.sha256((folder / "latest.pt").read_bytes()).hexdigest()
    assert verify(folder) == result_of(folder)
    _change_a_byte(folder / "latest.pt")
    for use in (lambda: verify(folder), lambda: _training(corpus, tmp_path).run(_planned(corpus, 10))):
        with pytest.raises(InputError, match=r"latest.pt is damaged \(not what its result was written with\)"):
            use()


@pytest.mark.parametrize("finished", [True, False])
def test_a_branch_whose_parent_is_another_is_refused(corpus: Corpus, tmp_path: Path, finished: bool) -> None:
    training, watch = _training(corpus, tmp_path), _crashing(("640", 8))
    if finished:
        training.run(_planned(corpus, 10))
    else:
        with pytest.raises(Crash):
            training.run(_planned(corpus, 10), watch)  # type: ignore[arg-type]
    _change_a_byte(trunk_folder(tmp_path, training.config).branch_point(7))
    with pytest.raises(InputError, match=r"is not the checkpoint that .* was started from"):
        training.run(_planned(corpus, 10))


def test_the_logged_loss_is_the_mean_since_the_last_record(corpus: Corpus, tmp_path: Path) -> None:
    """Through two interruptions, each between two records."""
    training = _training(corpus, tmp_path)
    training = replace(training, options=replace(OPTIONS, log_every=4, valid_every=100, save_every=0.0))
    (end,) = planned = _planned(corpus, 20)
    seen = iter([*[False] * 5, True, *[False] * 9, True])  # after steps 6 and 16
    for _ in range(2):
        with pytest.raises(Interrupted):
            training.run(planned, stop=lambda: next(seen))
    (folder,) = training.run(planned)
    trainer = LMTrainer(small_config(corpus), corpus, OPTIONS, Ranks(), end)
    steps = [float(trainer.train_step().loss) / trainer.config.step_tokens for _ in range(end.end)]
    for path, first, stops in (
        (trunk_folder(tmp_path, training.config).path, 0, (4, 8, 12, 14)),
        (folder, 14, (16, 20)),
    ):
        rows = [row for row in Journal(path / "metrics.jsonl").read() if "loss" in row]
        assert [row["step"] for row in rows] == list(stops)
        for row, start in zip(rows, (first, *stops), strict=False):
            wanted = steps[start : row["step"]]
            assert row["loss"] == pytest.approx(sum(wanted) / len(wanted), rel=1e-12)


def test_older_checkpoints_are_kept_on_request(corpus: Corpus, tmp_path: Path) -> None:
    training = replace(_training(corpus, tmp_path), options=replace(OPTIONS, keep=3))
    (folder,) = training.run(_planned(corpus, 10))
    kept = sorted(path.name for path in folder.glob("step_*.pt"))
    assert kept == ["step_000000008.pt", "step_000000009.pt", "step_000000010.pt"]


def test_two_processes_do_not_train_one_folder(corpus: Corpus, tmp_path: Path) -> None:
    from ordinate.store import Run

    training = _training(corpus, tmp_path)
    with (
        Run(trunk_folder(tmp_path, training.config).path).claimed(),
        pytest.raises(InputError, match="another process"),
    ):
        training.run(_planned(corpus, 10))


@pytest.mark.parametrize("before", [[], [10]])
def test_damaged_tokens_are_found_before_training_begins_or_goes_on(
    corpus: Corpus, tmp_path: Path, before: list[int]
) -> None:
    """Of the right size and within the vocabulary: nothing else would tell."""
    _training(corpus, tmp_path / "made").run(_planned(corpus, *before) if before else [])
    shutil.copytree(corpus.folder, tmp_path / "data")
    shard = tmp_path / "data" / "train-00000.bin"
    content = bytearray(shard.read_bytes())
    content[1024:1026] = b"\x05\x00" if content[1024:1026] != b"\x05\x00" else b"\x06\x00"
    shard.write_bytes(content)
    training = replace(_training(corpus, tmp_path / "made"), corpus=open_corpus(tmp_path / "data"))
    with pytest.raises(InputError, match="another hash"):
        training.run(_planned(corpus, 20))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"changed", b"another sum"])
def test_a_damaged_result_is_found_before_anything_is_trained_beside_it(
    corpus: Corpus, tmp_path: Path, content: bytes
) -> None:
    (done,) = _training(corpus, tmp_path).run(_planned(corpus, 10))
    path = done / "result.json"
    whole = read_json(path)
    if content == b"changed":
        content = json.dumps(whole | {"valid_loss": "low"}).encode()
    elif content == b"another sum":
        content = json.dumps(whole | {"valid_loss": 0.1}).encode()
    path.write_bytes(content)
    for use in (
        lambda: plan_segments(tmp_path, small_config(corpus), _planned(corpus, 10, 20)),
        lambda: _training(corpus, tmp_path).run(_planned(corpus, 10, 20)),
    ):
        with pytest.raises(InputError, match=r"result.json is damaged"):
            use()
    path.unlink()  # its checkpoint has all that it said
    _training(corpus, tmp_path).run(_planned(corpus, 10))
    assert {**read_json(path), **DIFFERS} == {**whole, **DIFFERS}


DIFFERS = {"seconds": 0, "sum": "", "files": {}}  # how long it took, and hashes of what tells so


@pytest.mark.parametrize("name", ["train-00000.bin", "valid-00000.bin", "tokenizer.json"])
def test_a_pipe_among_the_data_is_not_waited_for(corpus: Corpus, tmp_path: Path, name: str) -> None:
    shutil.copytree(corpus.folder, tmp_path / "data")
    (tmp_path / "data" / name).unlink()
    os.mkfifo(tmp_path / "data" / name)
    with pytest.raises(InputError, match=f"{name} is not a file"):
        open_corpus(tmp_path / "data")


def test_a_pipe_among_the_checkpoints_is_not_waited_for(corpus: Corpus, tmp_path: Path) -> None:
    (done,) = _training(corpus, tmp_path).run(_planned(corpus, 10))
    trunk = trunk_folder(tmp_path, small_config(corpus)).path
    for path in (trunk / "latest.pt", done / "result.json"):
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(InputError, match=f"{path.name} is no"):
            plan_segments(tmp_path, small_config(corpus), _planned(corpus, 10, 20))
        path.unlink()
