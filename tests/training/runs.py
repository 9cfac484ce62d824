"""Runs that take a moment, and processes to do them in."""

import multiprocessing
from pathlib import Path
from typing import Any

from ordinate.results.run_result import RunResult
from ordinate.results.serialize import write
from ordinate.statistics.words import Word
from ordinate.store import Run
from ordinate.training import RunConfig, resolve

# Forked processes have torch loaded already, and can be killed.
Process = multiprocessing.get_context("fork").Process

SMALL = dict(
    task="k_back(k=1,vocabulary=4)", encoding="rope", dim=16, heads=2, layers=1, steps=20, batch=8, lr=0.01,
    dropout=0.1, train_lengths=[4, 8], ood_lengths=[12], evaluation_sequences=40,
)  # fmt: skip


def small(**settings: Any) -> RunConfig:
    """A run of a fifth of a second, with dropout and AdamW."""
    return resolve(SMALL | settings)


def words(result: RunResult) -> list[Word | None]:
    """What is said of each row of a result."""
    return list(result.words.values())


TIMED = ("seconds", "files")  # hashes of the journal, which holds how fast it went


def outcome(run: Run) -> dict[str, Any]:
    """All that a run leaves behind, but for how long it took."""
    result = {key: value for key, value in write(run.result).items() if key not in TIMED}
    journal = [record for record in run.journal.read() if record["metric"] != "tokens_per_second"]
    return {"result": result, "journal": journal, "weights": _bytes(run.folder), "files": _names(run.folder)}


def _bytes(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("model.safetensors", "attention.safetensors", "config.json")]


def _names(folder: Path) -> list[str]:
    """Of what holds results; a process that died after writing them may leave its claim and its checkpoint."""
    return sorted(path.name for path in folder.iterdir() if path.suffix in (".json", ".jsonl", ".safetensors", ".tmp"))
