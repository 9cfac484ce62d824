"""Frozen sets that nothing disturbs, and training data that never meets them."""

from pathlib import Path
from typing import Any

import pytest
import torch

from ordinate import tasks
from ordinate.core.positions import draw
from ordinate.store import Store
from ordinate.training import RunConfig, train
from ordinate.training.data import TrainingData, evaluation_sets, overlap

from .runs import small


def hashes(config: RunConfig) -> dict[tuple[str, int], str]:
    return {(s.split, s.length): s.hash for s in evaluation_sets(config, config.make_task())}


@pytest.mark.parametrize(
    "change",
    [
        dict(seed=9), dict(encoding="alibi"), dict(encoding="learned(beyond=clip)", dim=32), dict(dataset=50),
        dict(coverage="randomized"), dict(train_lengths=[6, 8]), dict(steps=7, lr=1.0), dict(ood_lengths=[12, 16]),
    ],
)  # fmt: skip
def test_sets_are_the_same_for_all(change: dict[str, Any]) -> None:
    before = hashes(small())
    assert list(before) == [("valid", 8), ("id", 8), ("ood", 12)]
    torch.rand(3)  # whatever the global generator does
    assert before.items() <= hashes(small(**change)).items()


@pytest.mark.parametrize("change", [dict(task="k_back(k=1,vocabulary=5)"), dict(evaluation_sequences=41)])
def test_another_task_or_size_is_another_set(change: dict[str, Any]) -> None:
    assert not set(hashes(small()).values()) & set(hashes(small(**change)).values())


def test_training_leaves_them_and_the_callers_generator_alone(tmp_path: Path) -> None:
    config = small(dropout=0.5, steps=3)
    before, state = hashes(config), torch.get_rng_state()
    result = train(config, Store(tmp_path)).result
    assert torch.equal(torch.get_rng_state(), state)
    assert hashes(config) == before == {(r["split"], r["length"]): r["hash"] for r in result["evaluation"]}


@pytest.mark.parametrize("name", tasks.names())
def test_no_two_sets_share_a_stream(name: str) -> None:
    encoding = "rope_2d" if name == "image_pattern" else "rope"
    config = small(task=name, encoding=encoding, train_lengths=tasks.create(name).train_lengths[1], ood_lengths=None)
    sets = evaluation_sets(config, config.make_task())
    assert len({s.hash for s in sets}) == len(sets)
    valid, test = (next(s.batch.tokens for s in sets if s.split == split) for split in ("valid", "id"))
    trained = torch.cat([TrainingData(config, config.make_task()).batch(step).tokens for step in range(5)])
    assert not torch.equal(valid, test) and not torch.equal(trained, valid) and trained.shape == test.shape


def test_shifted_sets_where_the_task_has_them() -> None:
    found = hashes(small(task="shift_pattern", train_lengths=[8, 16], ood_lengths=[20]))
    assert list(found) == [("valid", 16), ("id", 16), ("ood", 20), ("shift", 16), ("shift", 20)]


@pytest.mark.parametrize("change", [{}, dict(dataset=50), dict(coverage="offset"), dict(coverage="randomized")])
def test_a_batch_follows_from_its_step_alone(change: dict[str, Any]) -> None:
    """So that nothing but the step need be kept to go on."""
    config = small(**change)
    one, two = (TrainingData(config, config.make_task()) for _ in range(2))
    forwards = [one.batch(step) for step in range(20)]
    for step in reversed(range(20)):
        found, expected = two.batch(step), forwards[step]
        assert torch.equal(found.tokens, expected.tokens) and torch.equal(found.targets, expected.targets)
        assert found.positions is expected.positions is None or torch.equal(found.positions, expected.positions)


def test_every_length_of_the_range_is_drawn_and_seeds_and_steps_differ() -> None:
    config = small(steps=100)
    data = TrainingData(config, config.make_task())
    assert {data.batch(step).tokens.shape[1] for step in range(100)} == {4, 5, 6, 7, 8}
    fixed = [TrainingData(c, c.make_task()) for c in (small(train_lengths=8), small(train_lengths=8, seed=2))]
    batches = [source.batch(step).tokens.tolist() for source in fixed for step in (0, 1)]
    assert all(one != two for i, one in enumerate(batches) for two in batches[:i])


def test_paired_encodings_see_the_same_data_under_the_same_positions() -> None:
    one, two = (
        TrainingData(c, c.make_task())
        for c in (small(coverage="offset"), small(coverage="offset", encoding="alibi", lr=1.0))
    )
    for step in range(5):
        assert torch.equal(one.batch(step).tokens, two.batch(step).tokens)
        assert torch.equal(one.batch(step).positions, two.batch(step).positions)


def test_drawn_positions_stay_below_their_limit() -> None:
    config = small(coverage="randomized", position_limit=20)
    data = TrainingData(config, config.make_task())
    drawn = torch.cat([data.batch(step).positions.flatten() for step in range(60)])
    assert set(drawn.tolist()) == set(range(20))
    whole = draw("randomized", sides=(20,), limit=20, generator=torch.Generator())
    assert whole.flatten().tolist() == list(range(20))


def test_overlap_counts_the_problems_that_training_showed() -> None:
    config = small(task="binary_majority", train_lengths=[3, 5], ood_lengths=[9], steps=30, evaluation_sequences=64)
    task = config.make_task()
    data, sets = TrainingData(config, task), evaluation_sets(config, task)
    shown = {tuple(row) for step in range(30) for row in data.batch(step).tokens.tolist()}
    found = overlap(data, 30, sets)
    for chosen in sets:
        again = sum(tuple(row) in shown for row in chosen.batch.tokens.tolist())
        assert found[chosen.hash] == again / 64
    by_split = {chosen.split: found[chosen.hash] for chosen in sets}
    assert by_split["id"] > 0.5 and by_split["ood"] == 0  # only 32 sequences of length 5 exist
