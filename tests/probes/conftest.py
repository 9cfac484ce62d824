"""One run that learned what it was taught, for all tests of probes."""

from pathlib import Path

import pytest

from ordinate.store import Run, open_store
from ordinate.training import baselines, resolve, train

LEARNED = dict(
    task="k_back(k=2,vocabulary=6)", encoding="rope", dim=32, heads=2, layers=1, steps=200, batch=32, lr=0.01,
    train_lengths=[4, 12], ood_lengths=[16], evaluation_sequences=40,
)  # fmt: skip


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Run:
    before, baselines.SEQUENCES = baselines.SEQUENCES, 200
    folder: Path = tmp_path_factory.mktemp("probes") / "runs"
    try:
        return train(resolve(LEARNED), open_store(folder))
    finally:
        baselines.SEQUENCES = before
