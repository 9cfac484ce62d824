"""The rows of a run's result, and the weights and attention maps kept beside it."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial

import torch
from safetensors.torch import save

from ordinate.core.seeds import generator
from ordinate.core.task import Task
from ordinate.model import Transformer, record
from ordinate.results.run_result import EvaluationRow, Record
from ordinate.store import Run, Store
from ordinate.training.baselines import baselines, possible
from ordinate.training.config import RunConfig
from ordinate.training.data import EvaluationSet
from ordinate.training.evaluate import drawn_positions, longest_input, past_training

EXAMPLES = 2  # whose attention is kept
LONGEST_MAP = 256


def evaluation_rows(
    config: RunConfig, store: Store, task: Task, sets: list[EvaluationSet], scores: list[Record], seen: dict[str, float]
) -> Iterator[EvaluationRow]:
    """One row per evaluated set. `seen` is the part of each set that training showed, by the set's hash."""
    values: dict[tuple[str, int | None], dict[str, float | None]] = defaultdict(dict)
    for score in scores:
        values[score.split, score.length][score.metric] = score.value
    inside = values["id", max(config.test_lengths)].copy()
    for chosen in sets:
        groups, beyond = values[chosen.split, chosen.length], past_training(config, task, chosen)
        main = {name: groups.pop(name, None) for name in ("loss", "accuracy", "exact", "loss_error")}
        outside = chosen.split in ("ood", "shift")
        yield EvaluationRow(
            split=chosen.split, length=chosen.length, sequences=len(chosen.batch.tokens), hash=chosen.hash,
            score=groups.get("accuracy_beyond") if beyond else main[task.metric],
            loss=main["loss"], accuracy=main["accuracy"], exact=main["exact"], loss_error=main["loss_error"],
            seen=seen[chosen.hash], groups=groups,
            gap_loss=_difference(main["loss"], inside.get("loss")) if outside else None,
            gap_accuracy=_difference(inside.get("accuracy"), main["accuracy"]) if outside else None,
            **_baselines(config, store, task, chosen, beyond),
        )  # fmt: skip


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _baselines(config: RunConfig, store: Store, task: Task, chosen: EvaluationSet, beyond: int) -> dict[str, float]:
    """Computed once per store, under a hash of all that they depend on.

    The hash of a few problems is part of it: if the code of the task changes, its baselines are computed again.
    """
    length, kind = chosen.length, "shift" if chosen.split == "shift" else "id"
    few = task.sample(16, length, generator(0, "content", length), kind)
    content = hashlib.sha256(few.tokens.numpy().tobytes() + few.targets.numpy().tobytes()).hexdigest()[:12]
    named = json.dumps([2, config.task, length, kind, beyond, content])
    key = hashlib.sha256(named.encode()).hexdigest()[:12]
    return store.remember(
        "baselines", key, partial(possible, task), lambda: asdict(baselines(task, length, kind, beyond=beyond))
    )


def keep_artifacts(run: Run, model: Transformer, config: RunConfig, task: Task, sets: list[EvaluationSet]) -> None:
    """The weights, and attention maps of a few fixed examples."""
    run.write("model.safetensors", save({k: v.cpu().contiguous() for k, v in model.state_dict().items()}))
    chosen = next(s for s in sets if s.split == "id")
    batch = chosen.batch
    if batch.tokens.shape[1] > LONGEST_MAP or max(task.sides(chosen.length)) > longest_input(model):
        return
    device = model.embedding.weight.device
    positions = batch.positions if config.tested == "plain" else drawn_positions(config, task, chosen, 0)
    positions = None if positions is None else positions[:EXAMPLES].to(device)
    with torch.inference_mode(), record(model) as seen:
        model(batch.tokens[:EXAMPLES].to(device), positions=positions)
    maps = {f"layer_{i}": w.float().cpu().contiguous() for i, w in enumerate(seen.weights)}
    maps |= {"tokens": batch.tokens[:EXAMPLES].contiguous(), "targets": batch.targets[:EXAMPLES].contiguous()}
    run.write("attention.safetensors", save(maps, {"kernels": ",".join(seen.kernels)}))
