"""Stores of runs without training: folders as runs leave them, written in a moment."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from ordinate.core.config import digest, to_dict
from ordinate.results.run_result import Machine
from ordinate.store.documents import write_document
from ordinate.store.files import write_json
from ordinate.store.sums import file_sums
from ordinate.training import resolve

from .conftest import TASK, TINY

_usual: dict[str, Any] = {}  # resolving tries the model once, which takes a while


def run(store: Path, state: str = "done", *, score: float = 1.0, maps: bool = False, **settings: Any) -> str:
    """A run of this state (done, diverged, failed, interrupted), and its id."""
    if not _usual:
        _usual.update(json.loads(json.dumps(to_dict(resolve({"task": TASK, "encoding": "rope", **TINY})))))
    config: dict[str, Any] = _usual | {"model": dict(_usual["model"])}
    for name, value in settings.items():
        (config["model"] if name in config["model"] else config)[name] = value
    run_id = digest(config)
    folder = store / run_id
    folder.mkdir(parents=True)
    write_json(folder / "config.json", config)
    write_document(folder / "env.json", Machine("0.1", "3.11", "2.13", "2.0", "Linux", "a processor", 2, 1, None))
    (folder / "log.txt").write_text("2026-01-02 03:04:05 started: it\n2026-01-02 03:04:06 **the end**\n")
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in _journal(run_id)))
    if state == "failed":
        (folder / "error.txt").write_text("Traceback:\n  a line\nRuntimeError: <b>no</b> luck\n")
    if maps:
        weights = np.full((2, 2, 300, 300), 1 / 300, dtype=np.float32)
        save_file({"layer_0": weights}, folder / "attention.safetensors")
    if state in ("done", "diverged"):
        result = _result(config, run_id, state, score)
        write_document(folder / "result.json", result | {"run": run_id, "files": file_sums(folder)})
    return run_id


def _journal(run_id: str) -> list[dict[str, Any]]:
    both = [("train", step) for step in range(1, 21)] + [("valid", step) for step in (10, 20)]
    both.sort(key=lambda part: part[1])
    return [
        {"run": run_id, "step": step, "split": split, "length": None, "metric": metric, "value": value}
        for split, step in both
        for metric, value in (("loss", 1 / step), ("accuracy", 1 - 1 / step))
    ]


def _result(config: dict[str, Any], run_id: str, state: str, score: float) -> dict[str, Any]:
    done = state == "done"
    rows = [
        {
            "split": split, "length": length, "sequences": 40, "hash": "x", "score": value if done else None,
            "loss": 0.1 if done else None, "accuracy": value if done else None, "exact": None, "loss_error": None,
            "chance": 0.25, "majority": 0.25, "position_only": 0.25, "bag_of_tokens": 0.3, "floor": 0.3, "groups": {},
            "seen": 0.0, "gap_loss": None, "gap_accuracy": None,
        }
        for split, length, value in (("valid", 8, score), ("id", 8, score), ("ood", 12, 0.7), ("ood", 16, 0.5))
    ]  # fmt: skip
    return {
        "status": "finished" if done else "diverged", "steps": 20, "learned_at": 10 if done and score >= 0.95 else None,
        "parameters": 1234, "encoding_parameters": 0, "task": config["task"], "metric": "accuracy",
        "direction": "higher", "bar": 0.95, "evaluation": rows,
        "norms": {"embedding_norm": 1.0, "encoding_norm": 0.0},
        "records": [record for record in _journal(run_id) if record["split"] == "valid"], "memory": None,
        "seconds": 40.0,
    }  # fmt: skip
