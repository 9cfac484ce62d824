"""From a trained model to its result, and the weights and attention maps kept beside it."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import partial

import torch
from safetensors.torch import save

from ordinate.core.seeds import generator
from ordinate.core.task import Task
from ordinate.model import Transformer, record
from ordinate.results.run_result import EvaluationRow, Norms, Record, RunResult, Status
from ordinate.store import Run, Store
from ordinate.training.baselines import baselines, possible
from ordinate.training.config import RunConfig
from ordinate.training.data import EvaluationSet
from ordinate.training.evaluate import drawn_positions, longest_input, past_training

EXAMPLES = 2  # whose attention is kept
LONGEST_MAP = 256
NORMS = ("embedding_norm", "encoding_norm")  # written once, at the start of a run, and needed at its end


@dataclass(frozen=True)
class Trained:
    """What training itself knows when it ends."""

    run: str
    status: Status
    steps: int
    learned_at: int | None
    parameters: int
    encoding_parameters: int
    memory: int | None
    seconds: float


def run_result(
    trained: Trained,
    config: RunConfig,
    store: Store,
    task: Task,
    sets: list[EvaluationSet],
    seen: dict[str, float],
    scores: list[Record],
    journal: list[Record],
) -> RunResult:
    """The result of a run: one row per evaluated set, the learning curve, norms and costs.

    `seen` is the part of each set that training showed, by the set's hash.
    """
    values = {(r.split, r.length, r.metric): r.value for r in scores}
    inside = {name: values.get(("id", max(config.test_lengths), name)) for name in ("loss", "accuracy")}
    norms = {r.metric: r.value or 0.0 for r in journal if r.metric in NORMS}
    return RunResult(
        task=config.task,
        metric=task.metric,
        direction=task.direction,
        bar=None if task.metric == "loss" else task.bar,
        evaluation=tuple(_row(config, store, task, chosen, values, inside, seen[chosen.hash]) for chosen in sets),
        norms=Norms(**norms),
        # the learning curve and the scores; the rest of the journal stays where it is: a result is read often
        records=tuple([r for r in journal if r.split == "valid"] + [r for r in scores if r.split != "valid"]),
        **asdict(trained),
    )


def _row(
    config: RunConfig,
    store: Store,
    task: Task,
    chosen: EvaluationSet,
    values: dict[tuple[str, int | None, str], float | None],
    inside: dict[str, float | None],
    seen: float,
) -> EvaluationRow:
    kind = "shift" if chosen.split == "shift" else "id"
    beyond = past_training(config, task, chosen)
    own = {
        metric: value
        for (split, length, metric), value in values.items()
        if (split, length) == (chosen.split, chosen.length)
    }
    everywhere = {name: own.pop(name, None) for name in ("loss", "accuracy", "exact", "loss_error")}
    outside = chosen.split in ("ood", "shift")
    return EvaluationRow(
        split=chosen.split,
        length=chosen.length,
        sequences=len(chosen.batch.tokens),
        hash=chosen.hash,
        score=own.get("accuracy_beyond") if beyond else everywhere[task.metric],
        seen=seen,
        groups=own,
        gap_loss=_difference(everywhere["loss"], inside["loss"]) if outside else None,
        gap_accuracy=_difference(inside["accuracy"], everywhere["accuracy"]) if outside else None,
        loss=everywhere["loss"],
        accuracy=everywhere["accuracy"],
        exact=everywhere["exact"],
        loss_error=everywhere["loss_error"],
        **_baselines(config, store, task, chosen.length, kind, beyond),
    )


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _baselines(config: RunConfig, store: Store, task: Task, length: int, kind: str, beyond: int) -> dict[str, float]:
    """Computed once per store, under a hash of all that they depend on."""
    named = json.dumps([2, config.task, length, kind, beyond, _content(task, length, kind)])
    key = hashlib.sha256(named.encode()).hexdigest()[:12]
    return store.remember(
        "baselines", key, partial(possible, task), lambda: asdict(baselines(task, length, kind, beyond=beyond))
    )


def _content(task: Task, length: int, kind: str) -> str:
    """The hash of a few problems: if the code of the task changes, its baselines are computed again."""
    batch = task.sample(16, length, generator(0, "content", length), kind)
    return hashlib.sha256(batch.tokens.numpy().tobytes() + batch.targets.numpy().tobytes()).hexdigest()[:12]


def keep_artifacts(run: Run, model: Transformer, config: RunConfig, task: Task, sets: list[EvaluationSet]) -> None:
    """The weights, and attention maps of a few fixed examples."""
    run.write("model.safetensors", save({k: v.cpu().contiguous() for k, v in model.state_dict().items()}))
    chosen = next(s for s in sets if s.split == "id")
    batch = chosen.batch
    if batch.tokens.shape[1] > LONGEST_MAP or max(task.sides(chosen.length)) > longest_input(model):
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
