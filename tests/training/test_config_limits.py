"""Sizes without sense, or beyond memory: refused at once, by a sentence that has the number in it."""

from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError, encodings, tasks
from ordinate.core import memory
from ordinate.core.task import MOST_ITEMS
from ordinate.store import Store
from ordinate.studies.plan import plan
from ordinate.training import resolve
from ordinate.training.config_limits import STATE, step_bytes
from ordinate.training.overhead import BenchSizes
from ordinate.training.step_memory import counted_memory as footprint
from ordinate.training.trainer import TaskTrainer

from .runs import SMALL, small

HUGE = 10**30


@pytest.fixture(autouse=True)
def _eight_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 8 * 10**9)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (dict(batch=10**9), "a step with batch 1000000000 at lengths up to 8 would take at least"),
        (dict(batch=HUGE), "batch must be at most 2,147,483,647, got 1000000000000000000000000000000"),
        (dict(dataset=10**9), "a dataset of 1000000000 sequences would take"),
        (dict(evaluation_sequences=10**8), "evaluation_sequences 100000000 at lengths up to 12 would take"),
        (dict(steps=10**12), "steps must be at most 1,000,000,000, got 1000000000000"),
        (dict(threads=10**5), "threads must be at most"),
        (dict(layers=2**63), "layers must be at most 2,147,483,647, got 9223372036854775808"),
        (dict(layers=1025), "layers must be at least 1 and at most 1024"),
        (dict(dim=10**6), "training a model of dim 1000000 and 1 layers would take"),
        (dict(dim=10**6, heads=10**6), "GB of memory"),
        (dict(ood_lengths=[2**24]), "evaluation_sequences 40 at lengths up to 16777216"),
        (dict(ood_lengths=[HUGE]), "ood_lengths must be at most 16,777,216"),
        (dict(train_lengths=[4, 10**400]), "train_lengths must be at most"),
        (dict(coverage="randomized", position_limit=2**24), "drawing positions below position_limit 16777216"),
        (dict(coverage="randomized", coverage_draws=10**6), "coverage_draws must be at most 10,000"),
        (dict(seed=-(10**400)), "seed must be at least -9,223,372,036,854,775,807, got -1000"),
        (dict(warmup=-(10**400)), "warmup must be at least -1,000,000,000"),
        (dict(encoding="learned(rows=2000000000)"), "learned with these parameters would take at least 128 GB"),
        (dict(encoding="learned(rows=100000000)"), "training a model with learned.* and its 16.* would take at least"),
        (
            dict(task=f"markers(vocabulary={MOST_ITEMS + 1})"),
            "vocabulary must be at least 5 and at most 1048576, got 1048577",
        ),
    ],
)
def test_a_run_that_cannot_be_is_refused_with_its_number(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        small(**settings)


def test_a_large_number_that_is_possible_is_taken() -> None:
    config = small(seed=2**63 - 1, steps=10**9, lr=1e30, batch=1000, train_lengths=[4, 2000], ood_lengths=[])
    assert (config.seed, config.steps) == (2**63 - 1, 10**9)


def test_what_is_estimated_is_never_more_than_what_is_needed(tmp_path: Path) -> None:
    """Or something that fits would be refused."""
    config, store = small(train_lengths=8, dim=32, layers=3), Store(tmp_path)
    training = TaskTrainer(config, store, store.run(config.id))
    (batch,) = training.data.parts(0)
    counted = footprint(training.model, batch)
    assert STATE * config.model.weights + step_bytes(config.model, 8, batch.tokens.numel()) <= counted * 1.05
    assert step_bytes(config.model, 8, batch.tokens.numel()) > counted / 20


@pytest.mark.parametrize("name", tasks.names())
def test_a_task_with_the_largest_vocabulary_is_made_at_once(name: str) -> None:
    known = tasks.registry.parameters(name)
    for parameter in ("vocabulary", "base", "farthest"):
        if parameter in known:
            task = tasks.create(name, **{parameter: MOST_ITEMS})
            assert 0 <= task.chance(task.train_lengths[1]) <= 20


@pytest.mark.parametrize("name", encodings.names())
def test_no_encoding_takes_a_number_that_memory_has_no_room_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, or so large a number costs nothing."""
    monkeypatch.setattr(memory, "available", lambda: 10**8)
    for parameter in encodings.registry.parameters(name).values():
        if "whole number" in parameter.kind():
            for number in (10**9, 2**31 - 1):
                try:
                    made = encodings.example(name, **{parameter.name: number})
                except InputError:
                    continue
                assert sum(weight.numel() for weight in made.parameters()) < 10**7


def test_no_comparison_has_millions_of_runs() -> None:
    settings = {key: value for key, value in SMALL.items() if key not in ("task", "encoding")}
    with pytest.raises(InputError, match=r"this would be 2,000,000 runs, and a comparison has at most 100,000"):
        plan("k_back", "rope,alibi", seeds=10**6, settings=settings)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (dict(length=2**24), "length must be at most 65,536, got 16777216"),
        (dict(memory_length=2**18, dim=2**14), "batch 1 of length 262144 at dim 16384 would take"),
        (dict(batch=10**9), "batch 1000000000 of length 512"),
        (dict(rounds=HUGE), "rounds has more than 63 bits"),
        (dict(rounds=10**9), "rounds must be at most 10,000"),
        (dict(threads=10**6), "threads must be at most"),
    ],
)
def test_a_measurement_that_cannot_be_is_refused(sizes: dict[str, int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        BenchSizes(**sizes)


def test_a_configuration_of_a_larger_machine_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are written where the runs were not."""
    from ordinate.core.config import build, to_dict
    from ordinate.training import RunConfig

    config = resolve(SMALL | dict(dim=2048))
    monkeypatch.setattr(memory, "available", lambda: 10**6)
    assert build(RunConfig, to_dict(config)) == config
    with pytest.raises(InputError, match="GB are available"):
        resolve(SMALL | dict(dim=2048))
