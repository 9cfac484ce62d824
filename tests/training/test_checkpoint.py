"""Checkpoints that are not what they were: none of it is used, and one sentence says so."""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from tests.fuzz.damage import changed, damaged, tensors

from ordinate import InputError
from ordinate.store import Run, Store
from ordinate.training import RunConfig, checkpoint, train

from .runs import outcome, small
from .test_resume import interrupted


def wrong(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)


WEIGHT = "embedding.weight"


def put(key: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.__setitem__(key, value)


def moment(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["optimizer"][WEIGHT].__setitem__(name, value)


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return small()


@pytest.fixture
def run(config: RunConfig, tmp_path: Path) -> Run:
    return interrupted(config, Store(tmp_path))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("step", 10**9), r"damaged \(step is 1000000000, of 20\)"),
        (put("step", -1), "step is -1"),
        (put("step", 3.0), "step is 3.0"),
        (put("step", True), "step is True"),
        (put("step", torch.tensor(3)), r"step is tensor\(3\)"),
        (put("journal", 10**12), "shorter than its checkpoint says"),
        (put("journal", "x"), "journal is 'x'"),
        (put("journal", -1), "and -1 bytes of journal"),
        (put("seconds", float("nan")), "nan s of training"),
        (put("seconds", None), "seconds is None"),
        (put("first_loss", "x"), "first_loss is 'x'"),
        (put("status", "half"), "status is 'half'"),
        (put("learned", 3), "learned is 3 and above is None"),
        (put("above", 10**6), "above is 1000000 at step 3"),
        (put("more", 1), r"damaged \('more' is not part of a checkpoint\)"),
        (lambda content: content.pop("status"), "status is None"),
        (lambda content: content.pop("model"), "its weights are not those of the model"),
        (lambda content: content.pop("optimizer"), "its moments are not those of the optimizer"),
        (lambda content: content["optimizer"].pop(WEIGHT), "its moments are not those of the optimizer"),
        (put("model", {}), "its weights are not those of the model"),
        (put("model", [1]), "its weights are not those of the model"),
        (put("optimizer", None), "its moments are not those of the optimizer"),
        (put("optimizer", torch.ones(2, 2)), "its moments are not those of the optimizer"),
        (put("optimizer", {}), "its moments are not those of the optimizer"),
        (put("optimizer", {999: {}}), "its moments are not those of the optimizer"),
        (lambda content: content["optimizer"].update(dict.fromkeys(content["optimizer"])), "no moments at step 3"),
        (moment("exp_avg_sq", None), r"exp_avg_sq of embedding.weight is not a plain tensor"),
        (lambda content: content["optimizer"][WEIGHT].pop("exp_avg"), "moments of embedding.weight are incomplete"),
        (moment("step", torch.tensor(10.0**9)), r"the step of embedding.weight is 1e\+09, of 3"),
        (moment("step", torch.tensor(float("nan"))), "the step of embedding.weight is nan, of 3"),
        (moment("step", 3.0), "the step of embedding.weight is not a plain tensor"),
        (moment("exp_avg", torch.zeros(1)), r"has \[1\] of torch.float32 where the model has \[4, 16\]"),
        (moment("exp_avg_sq", torch.zeros(4, 16).double()), "exp_avg_sq of .* has .* of torch.float64 where"),
        (moment("exp_avg", torch.zeros(1).expand(4, 16)), "exp_avg of embedding.weight is not a plain tensor"),
        (moment("exp_avg", torch.zeros(4, 16).to_sparse()), "exp_avg of embedding.weight is not a plain tensor"),
        (moment("exp_avg", torch.zeros(4, 16, device="meta")), "exp_avg of embedding.weight is not a plain tensor"),
    ],
)  # fmt: skip
def test_what_no_run_saves_is_refused(change: Any, words: str, config: RunConfig, run: Run) -> None:
    wrong(run.folder / checkpoint.NAME, change)
    with pytest.raises(InputError, match=words):
        train(config, Store(run.folder.parent))


def test_settings_of_the_optimizer_are_those_of_the_configuration(config: RunConfig, run: Run, tmp_path: Path) -> None:
    """A file that names others is refused, and none are in a file that was saved."""
    groups, path = [{"params": [0], "lr": 1e9, "maximize": True, "betas": "x"}], run.folder / checkpoint.NAME
    before = path.read_bytes()
    wrong(path, lambda content: content["optimizer"].update(param_groups=groups))
    with pytest.raises(InputError, match="its moments are not those of the optimizer"):
        train(config, Store(run.folder.parent))
    path.write_bytes(before)
    assert (
        torch.load(path, weights_only=True)["optimizer"].keys() <= torch.load(path, weights_only=True)["model"].keys()
    )
    found = outcome(train(config, Store(run.folder.parent)))
    assert found == outcome(train(config, Store(tmp_path / "whole")))


def test_a_pipe_in_its_place_is_not_waited_for(config: RunConfig, run: Run) -> None:
    (run.folder / checkpoint.NAME).unlink()
    os.mkfifo(run.folder / checkpoint.NAME)
    with pytest.raises(InputError, match="is not a checkpoint"):
        train(config, Store(run.folder.parent))


def test_a_file_that_unpacks_to_more_than_a_checkpoint_is_not_unpacked(config: RunConfig, run: Run) -> None:
    wrong(run.folder / checkpoint.NAME, put("more", torch.zeros(checkpoint.ROOM // 2)))
    with pytest.raises(InputError, match="is not a checkpoint"):
        train(config, Store(run.folder.parent))


@pytest.mark.parametrize("seed", range(20))
def test_any_other_content_is_refused_or_harmless(seed: int, config: RunConfig, run: Run) -> None:
    draw, path = Random(seed), run.folder / checkpoint.NAME
    if seed % 4 == 0:
        path.write_bytes(damaged(draw, path.read_bytes()))
    else:
        torch.save(changed(draw, torch.load(path, weights_only=True), tensors()), path)
    try:
        assert train(config, Store(run.folder.parent)).done
    except InputError as error:
        assert checkpoint.NAME in str(error) or "metrics.jsonl" in str(error)
