"""A few things that a small model learns in seconds, and one that it cannot. Margins are wide."""

from pathlib import Path
from typing import Any

import pytest

from ordinate.results.serialize import write
from ordinate.store import Store
from ordinate.training import train

from .runs import small, words

BUDGET = dict(dim=32, batch=32, lr=0.01, dropout=0.0, evaluation_sequences=500)


def learn(folder: Path, **settings: Any) -> dict[str, Any]:
    result = train(small(**BUDGET | settings), Store(folder)).result
    return {
        row.split: write(row) | {"word": word, "learned_at": result.learned_at, "steps": result.steps}
        for row, word in zip(result.evaluation, words(result), strict=True)
    }


@pytest.mark.slow
def test_rope_learns_to_look_three_back(tmp_path: Path) -> None:
    rows = learn(tmp_path, task="k_back", encoding="rope", train_lengths=[8, 16], ood_lengths=[24], steps=150)
    assert rows["id"]["score"] > 0.95 and rows["id"]["word"] == "solves"
    assert rows["id"]["floor"] < 0.4


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["none", "learned"])
def test_who_sees_no_order_stays_at_the_floor(encoding: str, tmp_path: Path) -> None:
    """Counts say nothing about the class, and without an encoding a bidirectional model sees nothing but counts."""
    row = learn(
        tmp_path, task="value_at_position", encoding=encoding, train_lengths=32, ood_lengths=[], steps=150, lr=0.003,
        batch=64,
    )["id"]  # fmt: skip
    if encoding == "none":
        assert abs(row["score"] - 1 / 3) < 0.1  # five standard errors
    else:
        assert row["score"] > 0.95


@pytest.mark.parametrize("encoding", ["none", "rope", "alibi"])
def test_everybody_solves_the_positive_control(encoding: str, tmp_path: Path) -> None:
    rows = learn(tmp_path, task="binary_majority", encoding=encoding, train_lengths=[8, 16], ood_lengths=[20], steps=60)
    assert rows["id"]["word"] == "solves" and rows["id"]["score"] > 0.95
