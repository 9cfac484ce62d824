"""Frozen sets that nothing disturbs, and training data that never meets them."""

from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import chisquare
from torch.nn import functional as F

from ordinate import Transformer, tasks
from ordinate.core.coverage import draw
from ordinate.core.task import UNSCORED, Batch
from ordinate.store import Store
from ordinate.training import RunConfig, train
from ordinate.training.data import BLOCK, TrainingData, evaluation_sets, overlap, pack
from ordinate.training.evaluate import batch_accuracy
from ordinate.training.trainer import TaskTrainer

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
    assert hashes(config) == before == {(r.split, r.length): r.hash for r in result.evaluation}


@pytest.mark.parametrize("name", tasks.names())
def test_no_two_sets_share_a_stream(name: str) -> None:
    encoding = "rope_2d" if tasks.create(name).axes == 2 else "rope"
    config = small(task=name, encoding=encoding, train_lengths=tasks.create(name).train_lengths[1], ood_lengths=[])
    sets = evaluation_sets(config, config.make_task())
    assert len({s.hash for s in sets}) == len(sets)
    valid, test = (next(s.batch.tokens for s in sets if s.split == split) for split in ("valid", "id"))
    data = TrainingData(config, config.make_task())
    trained = torch.cat([part.tokens for step in range(5) for part in data.parts(step)])
    assert not torch.equal(valid, test) and not torch.equal(trained, valid) and trained.shape == test.shape


def data_of(config: RunConfig) -> TrainingData:
    return TrainingData(config, config.make_task())


def same(one: list[Batch], two: list[Batch]) -> bool:
    """Whether two steps hold the same sequences, answers and positions."""
    for a, b in zip(one, two, strict=True):
        if (a.positions is None) != (b.positions is None):
            return False
        pairs = [(a.tokens, b.tokens), (a.targets, b.targets)]
        pairs += [] if a.positions is None or b.positions is None else [(a.positions, b.positions)]
        if not all(torch.equal(x, y) for x, y in pairs):
            return False
    return True


def test_shifted_sets_where_the_task_has_them() -> None:
    """At the trained length, and at twice that if it is tested."""
    found = hashes(small(task="shift_pattern", train_lengths=[8, 16], ood_lengths=[20]))
    assert list(found) == [("valid", 16), ("id", 16), ("ood", 20), ("shift", 16)]
    found = hashes(small(task="shift_pattern", train_lengths=[8, 16], ood_lengths=[20, 32, 64]))
    assert [length for split, length in found if split == "shift"] == [16, 32]


@pytest.mark.parametrize(
    "change",
    [
        {}, dict(dataset=50), dict(coverage="offset"), dict(coverage="randomized"), dict(train_lengths=8),
        dict(dataset=50, coverage="offset"), dict(task="binary_majority", coverage="randomized"),
        dict(task="image_pattern", encoding="rope_2d", train_lengths=[3, 5], ood_lengths=[6]),
    ],
)  # fmt: skip
def test_a_batch_follows_from_its_step_alone(change: dict[str, Any]) -> None:
    """So that nothing but the step need be kept to go on: in any order, within blocks and across them."""
    config = small(**change)
    one = data_of(config)
    steps = [0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5]
    forwards = {step: one.parts(step) for step in steps}
    two = data_of(config)
    for step in [*reversed(steps), BLOCK, 0]:
        assert same(two.parts(step), forwards[step])
    assert same(data_of(config).parts(BLOCK + 1), forwards[BLOCK + 1])


@pytest.mark.parametrize("change", [{}, dict(dataset=400), dict(task="binary_majority")])
def test_parts_are_of_one_length_each_the_shortest_first(change: dict[str, Any]) -> None:
    config = small(**change)
    data, task = data_of(config), config.make_task()
    for step in range(20):
        parts = data.parts(step)
        widths = [part.tokens.shape[1] for part in parts]
        assert widths == sorted(set(widths)) and set(widths) <= {task.width(n) for n in range(4, 9)}
        assert sum(len(part.tokens) for part in parts) == config.batch
        for part in parts:
            for tokens, targets in zip(part.tokens.tolist(), part.targets.view(len(part.tokens), -1), strict=True):
                assert task.solve(tokens) == targets.tolist()


@pytest.mark.parametrize("change", [{}, dict(dataset=5000)])
def test_lengths_are_mixed_within_a_step_and_uniform_over_the_range(change: dict[str, Any]) -> None:
    data = data_of(small(seed=3, **change))
    counts, mixed = torch.zeros(9), 0
    for step in range(300):
        parts = data.parts(step)
        mixed += len(parts) > 1
        for part in parts:
            counts[part.tokens.shape[1]] += len(part.tokens)
    assert mixed == 300  # eight sequences of five lengths: all alike once in 80 000 steps
    assert counts.sum() == 300 * 8 and not counts[:4].any()
    assert chisquare(counts[4:].numpy()).pvalue > 0.001


def test_no_sequence_is_drawn_twice_and_seeds_differ() -> None:
    """Each step has sequences of its own, and so has each seed."""
    change = dict(task="k_back(k=1,vocabulary=1000)", batch=4)
    shown = [
        tuple(row)
        for seed in (1, 2)
        for data in [data_of(small(seed=seed, **change))]
        for step in range(2 * BLOCK + 10)
        for part in data.parts(step)
        for row in part.tokens.tolist()
    ]
    assert len(set(shown)) == len(shown) == 2 * 4 * (2 * BLOCK + 10)


def test_neighbors_in_a_block_do_not_decide_about_each_other() -> None:
    """Counts of one step are as often high where those of the next are as where they are not."""
    data = data_of(small(seed=5))
    short = torch.tensor([sum(len(p.tokens) for p in data.parts(s) if p.tokens.shape[1] == 4) for s in range(320)])
    correlation = torch.corrcoef(torch.stack((short[:-1], short[1:])).double())[0, 1]
    assert correlation.abs() < 0.2  # more than three standard errors


@pytest.mark.parametrize("coverage", ["plain", "offset", "randomized"])
@pytest.mark.parametrize("dataset", [None, 60])
def test_paired_encodings_see_the_same_data_under_the_same_positions(coverage: str, dataset: int | None) -> None:
    one, two = (
        data_of(small(coverage=coverage, dataset=dataset, **change))
        for change in ({}, dict(encoding="alibi", lr=1.0, dim=32, clip=0.0))
    )
    for step in (*range(5), BLOCK):
        assert same(one.parts(step), two.parts(step))


def test_drawn_positions_leave_the_sequences_as_they_are() -> None:
    plain, offset = data_of(small()), data_of(small(coverage="offset"))
    for step in range(5):
        for a, b in zip(plain.parts(step), offset.parts(step), strict=True):
            assert torch.equal(a.tokens, b.tokens) and a.positions is None and b.positions is not None


@pytest.mark.parametrize("dataset", [None, 60])
def test_every_sequence_stands_at_positions_of_its_own(dataset: int | None) -> None:
    offset = data_of(small(coverage="offset", position_limit=500, dataset=dataset, batch=16))
    spread = data_of(small(coverage="randomized", position_limit=500, dataset=dataset, batch=16))
    for step in range(3):
        starts = []
        for part in offset.parts(step):
            assert part.positions is not None and part.positions.shape == (*part.tokens.shape, 1)
            assert (part.positions.diff(dim=1) == 1).all() and part.positions.max() < 500
            starts += part.positions[:, 0, 0].tolist()
        assert len(starts) == 16 or dataset  # the last batch of an epoch is what is left
        assert len(set(starts)) > 0.7 * len(starts)
        ids = [tuple(row) for part in spread.parts(step) for row in part.positions[..., 0].tolist()]  # type: ignore[index]
        assert len(set(ids)) == len(ids) and all(list(row) == sorted(set(row)) for row in ids)


def test_a_sequence_seen_again_stands_elsewhere() -> None:
    config = small(coverage="offset", position_limit=1000, dataset=10, batch=10)
    first, second = ({str(t): p for part in data_of(config).parts(step)
                      for t, p in zip(part.tokens.tolist(), part.positions[:, 0, 0].tolist(), strict=True)}
                     for step in (0, 1))  # fmt: skip
    assert first.keys() == second.keys() and first != second


def test_drawn_positions_stay_below_their_limit() -> None:
    data = data_of(small(coverage="randomized", position_limit=20))
    drawn = torch.cat([part.positions.flatten() for step in range(60) for part in data.parts(step)])
    assert set(drawn.tolist()) == set(range(20))
    whole = draw("randomized", sides=(20,), limit=20, generator=torch.Generator())
    assert whole.flatten().tolist() == list(range(20))


@pytest.mark.parametrize("size", [10, 100, 250])
def test_an_epoch_shows_every_sequence_once(size: int) -> None:
    config = small(dataset=size, epochs=3, steps=None, batch=8, train_lengths=[8, 17], ood_lengths=[])
    data, each = data_of(config), -(-size // 8)
    assert config.steps == 3 * each
    epochs = [
        [[str(row) for part in data.parts(step) for row in part.tokens.tolist()] for step in range(start, start + each)]
        for start in range(0, config.steps, each)
    ]
    for epoch in epochs:
        assert [len(batch) for batch in epoch[:-1]] == [8] * (each - 1)
        assert sorted(row for batch in epoch for row in batch) == sorted(row for batch in epochs[0] for row in batch)
        assert len({row for batch in epoch for row in batch}) == size
    assert epochs[0] != epochs[1] != epochs[2]


def test_parts_of_one_length_need_no_packing() -> None:
    (part,) = parts = data_of(small(train_lengths=8, coverage="offset")).parts(3)
    packed = pack(parts)
    assert packed.document_ids is None and packed.tokens is part.tokens and packed.positions is part.positions


@pytest.mark.parametrize(
    "change",
    [
        {}, dict(coverage="offset"), dict(task="binary_majority", coverage="randomized"),
        dict(task="image_pattern", encoding="rope_2d", train_lengths=[3, 5], ood_lengths=[6]),
    ],
)  # fmt: skip
def test_a_packed_row_holds_all_parts_one_after_the_other(change: dict[str, Any]) -> None:
    parts = data_of(small(**change)).parts(0)
    assert len(parts) > 1
    packed, at = pack(parts), 0
    assert packed.tokens.shape == (1, sum(part.tokens.numel() for part in parts)) and packed.document_ids is not None
    classified = parts[0].targets.dim() == 1
    number = 0
    for part in parts:
        for row in range(len(part.tokens)):
            here = slice(at, at + part.tokens.shape[1])
            assert torch.equal(packed.tokens[0, here], part.tokens[row])
            assert (packed.document_ids[0, here] == number).all()
            if part.positions is None:
                assert packed.positions is None
            else:
                assert torch.equal(packed.positions[0, here], part.positions[row % len(part.positions)])  # type: ignore[index]
            if not classified:
                assert torch.equal(packed.targets[0, here], part.targets[row])
            at, number = here.stop, number + 1
    assert at == packed.tokens.shape[1] and packed.document_ids[0, -1] == number - 1 == 7
    if classified:
        assert torch.equal(packed.targets, torch.cat([part.targets for part in parts]))


@pytest.mark.parametrize(
    "change",
    [
        dict(coverage="offset"), dict(task="binary_majority"), dict(task="first_last"),
        dict(task="markers", dataset=8, train_lengths=32, ood_lengths=[]),
        dict(task="image_pattern", encoding="rope_2d", train_lengths=[3, 5], ood_lengths=[6]),
        dict(task="value_at_position", encoding="alibi", train_lengths=[21, 26], ood_lengths=[], dataset=None),
    ],
)  # fmt: skip
def test_a_step_is_that_of_its_sequences_one_by_one(change: dict[str, Any], tmp_path: Path) -> None:
    """Loss and accuracy over every answer of the step alike, whatever the length of its sequence."""
    config = small(dropout=0.0, lr=1e-12, **change)
    store = Store(tmp_path)
    made = TaskTrainer(config, store, store.run(config.id))
    parts = made.data.parts(0)
    model = Transformer(config.model, seed=config.seed).eval()
    losses, right = [], []
    for part in parts:
        for row in range(len(part.tokens)):
            one = part.rows(row, row + 1)
            logits = model(one.tokens, positions=one.positions).flatten(0, -2)
            scored = one.targets.flatten() != UNSCORED
            losses.append(F.cross_entropy(logits[scored], one.targets.flatten()[scored], reduction="none"))
            groups = next(iter(made.task.groups(one.tokens, one.targets).values())).flatten()
            right.append(logits.argmax(dim=-1)[groups] == one.targets.flatten()[groups])
    loss, logits, _ = made.train_step(pack(parts))
    assert loss.item() == pytest.approx(torch.cat(losses).mean().item(), rel=1e-5)
    assert batch_accuracy(made.task, parts, logits) == pytest.approx(torch.cat(right).float().mean().item())


def test_overlap_counts_the_problems_that_training_showed() -> None:
    config = small(task="binary_majority", train_lengths=[3, 5], ood_lengths=[9], steps=30, evaluation_sequences=64)
    task = config.make_task()
    data, sets = TrainingData(config, task), evaluation_sets(config, task)
    shown = {tuple(row) for step in range(30) for part in data.parts(step) for row in part.tokens.tolist()}
    found = overlap(data, 30, sets)
    for chosen in sets:
        again = sum(tuple(row) in shown for row in chosen.batch.tokens.tolist())
        assert found[chosen.hash] == again / 64
    by_split = {chosen.split: found[chosen.hash] for chosen in sets}
    assert by_split["id"] > 0.5 and by_split["ood"] == 0  # only 32 sequences of length 5 exist
