"""What a finished run says: scores against their floor, gaps, the gate, and a word."""

import hashlib
import json
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from safetensors.torch import save

from ordinate.core.seeds import generator
from ordinate.core.task import Task
from ordinate.model import Transformer, record
from ordinate.store import Run, Store
from ordinate.store.files import Record
from ordinate.training.baselines import baselines, possible
from ordinate.training.config import RunConfig
from ordinate.training.data import EvaluationSet
from ordinate.training.evaluate import drawn_positions, past_training, reach

EXAMPLES = 2  # whose attention is kept
LONGEST_MAP = 256
NORMS = ("embedding_norm", "encoding_norm")  # written once, at the start of a run, and needed at its end


def summarize(
    config: RunConfig,
    store: Store,
    task: Task,
    sets: list[EvaluationSet],
    records: list[Record],
    journal: list[Record],
) -> dict[str, Any]:
    """One row per evaluated set, and the learning curve, as plain data. Words for it are found by whoever shows it."""
    values = {(r["split"], r["length"], r["metric"]): r["value"] for r in records}
    rows = [_row(config, store, task, chosen, values) for chosen in sets]
    inside = next(row for row in rows if row["split"] == "id" and row["length"] == max(config.test_lengths))
    for row in rows:
        if row["split"] in ("ood", "shift") and row["loss"] is not None and inside["loss"] is not None:
            row["gap_loss"] = row["loss"] - inside["loss"]
            row["gap_accuracy"] = inside["accuracy"] - row["accuracy"]
    return {
        "task": config.task,
        "metric": task.metric,
        "direction": task.direction,
        "bar": None if task.metric == "loss" else task.bar,
        "evaluation": rows,
        # A table of another size than the token embeddings can decide a comparison: both are told with every run.
        "norms": {r["metric"]: r["value"] for r in journal if r["metric"] in NORMS},
        # the learning curve and the scores; the rest of the journal stays where it is: a result is read often
        "records": [r for r in journal if r["split"] == "valid"] + [r for r in records if r["split"] != "valid"],
    }


def _row(
    config: RunConfig, store: Store, task: Task, chosen: EvaluationSet, values: dict[tuple[str, int, str], float | None]
) -> dict[str, Any]:
    kind = "shift" if chosen.split == "shift" else "id"
    beyond = past_training(config, task, chosen)
    named = json.dumps([2, config.task, chosen.length, kind, beyond, _content(task, chosen.length, kind)])
    key = hashlib.sha256(named.encode()).hexdigest()[:12]
    known = store.remember(
        "baselines",
        key,
        partial(possible, task),
        lambda: asdict(baselines(task, chosen.length, kind, beyond=beyond)),
    )
    everywhere = ("loss", "accuracy", "exact", "loss_error")
    found = {name: values.get((chosen.split, chosen.length, name)) for name in everywhere}
    more = {
        metric: value
        for (split, length, metric), value in values.items()
        if (split, length) == (chosen.split, chosen.length) and metric not in found
    }
    return {
        "split": chosen.split, "length": chosen.length, "sequences": len(chosen.batch.tokens), "hash": chosen.hash,
        "score": more.get("accuracy_beyond") if beyond else found[task.metric], **found, **known, "groups": more,
    }  # fmt: skip


def _content(task: Task, length: int, kind: str) -> str:
    """The hash of a few problems, which stands for the task's code: other problems have other baselines."""
    batch = task.sample(16, length, generator(0, "content", length), kind)
    return hashlib.sha256(batch.tokens.numpy().tobytes() + batch.targets.numpy().tobytes()).hexdigest()[:12]


def keep_artifacts(run: Run, model: Transformer, config: RunConfig, task: Task, sets: list[EvaluationSet]) -> None:
    """The weights, and attention maps of a few fixed examples."""
    run.write("model.safetensors", save({k: v.cpu().contiguous() for k, v in model.state_dict().items()}))
    chosen = next(s for s in sets if s.split == "id")
    batch = chosen.batch
    if batch.tokens.shape[1] > LONGEST_MAP or max(task.sides(chosen.length)) > reach(model):
        return
    device = model.embedding.weight.device
    positions = batch.positions
    if config.tested != "plain":
        positions = drawn_positions(config, task, chosen, 0)
    positions = None if positions is None else positions.to(device)
    with torch.inference_mode(), record(model) as seen:
        model(batch.tokens[:EXAMPLES].to(device), positions=positions[:EXAMPLES] if positions is not None else None)
    maps = {f"layer_{i}": w.float().cpu().contiguous() for i, w in enumerate(seen.weights)}
    maps |= {"tokens": batch.tokens[:EXAMPLES].contiguous(), "targets": batch.targets[:EXAMPLES].contiguous()}
    run.write("attention.safetensors", save(maps, {"kernels": ",".join(seen.kernels)}))
