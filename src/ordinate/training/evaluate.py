"""Scoring a model on frozen sets, length by length."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.coverage import draw
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator
from ordinate.core.task import UNSCORED, Batch, Task
from ordinate.model import Transformer
from ordinate.training.config import RunConfig
from ordinate.training.data import EvaluationSet, to_device

TOKENS = 4096  # per forward pass: larger ones leave the cache, smaller ones leave the cores idle


def longest_input(model: Transformer) -> int:
    """The first position that some encoding of the model cannot take."""
    return min(part.max_positions for part in model.parts)


def evaluate(
    model: Transformer, task: Task, config: RunConfig, chosen: EvaluationSet, draws: int | None = None
) -> dict[str, float] | None:
    """The metrics of one set by name: loss, accuracy per token, exact per sequence, also for the task's groups.

    None if the positions of the set exceed the limit of the encoding.
    """
    if model.training:
        raise InputError("evaluation wants a model in evaluation mode: call model.eval()")
    highest = max(task.sides(chosen.length)) if config.tested == "plain" else config.position_limit
    if highest + (task.readout == "readout") > longest_input(model):
        return None
    beyond = past_training(config, task, chosen)
    if config.tested == "plain":
        return _score(model, task, chosen.batch, beyond)
    # Drawn positions: the mean over several draws, and their spread.
    scores = []
    for number in range(draws or config.coverage_draws):
        drawn = drawn_positions(config, task, chosen, number)
        scores.append(_score(model, task, Batch(chosen.batch.tokens, chosen.batch.targets, drawn), beyond))
    values = {name: sum(score[name] for score in scores) / len(scores) for name in scores[0]}
    spread = torch.tensor([score[task.metric] for score in scores]).std(correction=0).item()
    return values | {"draws_std": spread}


def drawn_positions(config: RunConfig, task: Task, chosen: EvaluationSet, number: int) -> Int[Tensor, "b n axes"]:
    """Drawn ids for an evaluation, each sequence's own, the same for all models."""
    source = generator(0, "evaluation positions", chosen.split, chosen.length, number)
    sides, rows = task.sides(chosen.length), len(chosen.batch.tokens)
    return draw(config.tested, sides=sides, limit=config.position_limit, generator=source, rows=rows)


def past_training(config: RunConfig, task: Task, chosen: EvaluationSet) -> int:
    """The first token past the trained length if answers there are scored separately; otherwise 0.

    A longer sequence begins with positions seen in training, whose answers say nothing about longer ones.
    """
    apart = chosen.split == "ood" and task.readout == "tokens" and task.metric == "accuracy" and task.axes == 1
    return task.width(max(config.train_lengths)) if apart else 0


@torch.inference_mode()
def _score(model: Transformer, task: Task, batch: Batch, beyond: int = 0) -> dict[str, float]:
    """Mean scores, summed in float64 over chunks, so that the result does not depend on the chunk size."""
    sums: dict[str, tuple[float, int]] = {}
    device = model.embedding.weight.device
    rows = max(1, TOKENS // batch.tokens.shape[1])
    for start in range(0, len(batch.tokens), rows):
        part = batch.rows(start, start + rows)
        tokens, targets = part.tokens, part.targets
        logits = model(tokens.to(device), positions=to_device(part.positions, device)).float().cpu()
        loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=UNSCORED, reduction="none")
        right, groups = correct(logits, targets), task.groups(tokens, targets)
        first = next(iter(groups))
        for name, mask in groups.items():
            tail = "" if name == first else f"_{name}"
            _add(sums, f"loss{tail}", loss[mask.flatten()])
            _add(sums, f"accuracy{tail}", right[mask])
        scored = groups[first]
        rows_scored = scored.view(len(tokens), -1)
        mean = (loss.view_as(rows_scored) * rows_scored).sum(dim=1).double() / rows_scored.sum(dim=1).clamp(min=1)
        _add(sums, "sequence", mean)
        _add(sums, "square", mean**2)
        if beyond:
            late = scored & (torch.arange(tokens.shape[1]) >= beyond)
            _add(sums, "loss_beyond", loss[late.flatten()])
            _add(sums, "accuracy_beyond", right[late])
        _add(sums, "exact", (right | ~scored).view(len(tokens), -1).all(dim=1))
    means = {name: total / count for name, (total, count) in sums.items() if count}
    # the standard error of the loss, over sequences: the tokens of one are not independent
    variance = means.pop("square") - means.pop("sequence") ** 2
    return means | {"loss_error": math.sqrt(max(0.0, variance) / len(batch.tokens))}


def _add(sums: dict[str, tuple[float, int]], name: str, values: Tensor) -> None:
    total, count = sums.get(name, (0.0, 0))
    sums[name] = (total + values.double().sum().item(), count + values.numel())


def correct(logits: Float[Tensor, "*answers classes"], targets: Tensor) -> Bool[Tensor, "*answers"]:
    """Whether the target alone has the largest logit: a tie is an error, and so is a NaN."""
    if logits.shape[-1] == 1:
        return targets == 0
    best = logits.topk(2, dim=-1)
    return (best.indices[..., 0] == targets) & (best.values[..., 0] > best.values[..., 1])


def batch_accuracy(task: Task, parts: list[Batch], logits: Tensor) -> float:
    """The accuracy on a packed training batch, from the logits of its step."""
    flat, right, count, at = logits.flatten(0, -2), 0.0, 0, 0
    for part in parts:
        here = flat[at : at + part.targets.numel()].view(*part.targets.shape, -1)
        at += part.targets.numel()
        scored = next(iter(task.groups(part.tokens, part.targets).values()))
        right += correct(here, part.targets)[scored].sum().item()
        count += int(scored.sum())
    return right / max(1, count)
