"""Batches to train on and frozen sets to evaluate on, each a function of its name alone: nothing need be saved."""

import hashlib
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.positions import draw
from ordinate.core.seeds import generator
from ordinate.core.task import Batch, Task
from ordinate.training.config import RunConfig, shares


class TrainingData:
    """The batch of every step: fresh, or out of a fixed dataset that each epoch puts in another order."""

    def __init__(self, config: RunConfig, task: Task) -> None:
        self.config, self.task = config, task
        self.low, self.high = config.train_lengths[0], config.train_lengths[-1]
        self.fixed: list[Batch] | None = None
        self.plan: list[tuple[int, int]] = []  # block of the dataset, and first row
        self.order: tuple[int, Tensor] = (-1, torch.empty(0))
        if config.dataset is not None:
            self.fixed = self._dataset(config.dataset)
            for block, batch in enumerate(self.fixed):
                self.plan += [(block, start) for start in range(0, len(batch.tokens), config.batch)]

    def batch(self, step: int) -> Batch:
        """What is trained on in this step; positions are drawn here."""
        config = self.config
        if self.fixed is None:
            source = generator(config.seed, "data", step)
            length = int(torch.randint(self.low, self.high + 1, (), generator=source))
            batch = self.task.sample(config.batch, length, source, "train")
        else:
            length, batch = self._from_dataset(step)
        if config.coverage == "plain":
            return batch
        drawn = draw(
            config.coverage, sides=self.task.sides(length), limit=config.position_limit,
            generator=generator(config.seed, "positions", step),
        )  # fmt: skip
        return Batch(batch.tokens, batch.targets, drawn)

    def _dataset(self, size: int) -> list[Batch]:
        """One block per training length, of equal shares."""
        return [
            self.task.sample(share, length, generator(self.config.seed, "dataset", length), "train")
            for length, share in enumerate(shares(size, self.config.train_lengths), start=self.low)
            if share
        ]

    def _from_dataset(self, step: int) -> tuple[int, Batch]:
        assert self.fixed is not None
        epoch, at = divmod(step, len(self.plan))
        if self.order[0] != epoch:
            self.order = (epoch, torch.randperm(len(self.plan), generator=generator(self.config.seed, "order", epoch)))
        block, start = self.plan[int(self.order[1][at])]
        whole = self.fixed[block]
        rows = torch.randperm(len(whole.tokens), generator=generator(self.config.seed, "rows", epoch, block))
        pick = rows[start : start + self.config.batch]
        return self.low + block, Batch(whole.tokens[pick], whole.targets[pick], whole.positions)


@dataclass(frozen=True)
class EvaluationSet:
    """Sequences that every encoding and every seed is scored on."""

    split: str  # valid | id | ood | shift
    length: int
    batch: Batch
    hash: str


def evaluation_set(task: Task, text: str, split: str, length: int, count: int) -> EvaluationSet:
    """A frozen set, from a seed of its own that no training stream has."""
    source = generator(0, "evaluation", text, split, length, count)
    batch = task.sample(count, length, source, "shift" if split == "shift" else "id")
    return EvaluationSet(split, length, batch, _hash(batch.tokens, batch.targets))


def evaluation_sets(config: RunConfig, task: Task) -> list[EvaluationSet]:
    """Validation and test in distribution, longer sequences, and shifted ones where the task has them."""
    wanted = [("valid", max(config.test_lengths))]
    wanted += [("id", n) for n in config.test_lengths] + [("ood", n) for n in config.ood_lengths]
    if "shift" in task.splits:
        wanted += [("shift", n) for n in (max(config.test_lengths), *config.ood_lengths)]
    return [evaluation_set(task, config.task, split, n, config.evaluation_sequences) for split, n in wanted]


def overlap(data: TrainingData, steps: int, sets: list[EvaluationSet]) -> dict[str, float]:
    """By the hash of a set: which share of its sequences training has shown too. Batches are drawn once more for it."""
    widths = {chosen.batch.tokens.shape[1] for chosen in sets}
    shown: set[bytes] = set()
    for step in range(steps):
        tokens = data.batch(step).tokens
        if tokens.shape[1] in widths:
            shown.update(row.tobytes() for row in tokens.numpy())
    return {
        chosen.hash: sum(row.tobytes() in shown for row in chosen.batch.tokens.numpy()) / len(chosen.batch.tokens)
        for chosen in sets
    }


def _hash(*tensors: Int[Tensor, "..."]) -> str:
    whole = hashlib.sha256()
    for tensor in tensors:
        whole.update(str(tuple(tensor.shape)).encode() + tensor.contiguous().numpy().tobytes())
    return whole.hexdigest()[:16]
