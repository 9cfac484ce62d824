"""Batches to train on and frozen sets to evaluate on, each a function of its name alone: nothing need be saved."""

import hashlib
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.coverage import draw
from ordinate.core.seeds import generator
from ordinate.core.task import Batch, Task
from ordinate.statistics.observations import RangeKey, Split
from ordinate.training.config import RunConfig, shares
from ordinate.training.config_limits import BLOCK


class TrainingData:
    """The sequences of every step: fresh, or out of a fixed dataset that each epoch puts in another order.

    Each sequence draws its own length and, with drawn coverage, its own positions.
    """

    def __init__(self, config: RunConfig, task: Task) -> None:
        self.config, self.task = config, task
        self.low, self.high = config.train_lengths[0], config.train_lengths[-1]
        self.block: tuple[int, list[list[Batch]]] = (-1, [])
        self.order: tuple[int, Tensor] = (-1, torch.empty(0))
        self.fixed = None if config.dataset is None else self._dataset(config.dataset)

    def parts(self, step: int) -> list[Batch]:
        """The sequences of a step, in parts of one length each, the shortest first."""
        if self.fixed is not None:
            return self._from_dataset(step, self.fixed)
        number, within = divmod(step, BLOCK)
        if self.block[0] != number:
            self.block = (number, self._drawn(number))
        return self.block[1][within]

    def _drawn(self, number: int) -> list[list[Batch]]:
        """The parts of all steps of a block. Lengths are drawn first, each sequence's own."""
        source = generator(self.config.seed, "data", number)
        drawn = torch.randint(self.low, self.high + 1, (BLOCK, self.config.batch), generator=source)
        steps: list[list[Batch]] = [[] for _ in range(BLOCK)]
        for length in drawn.unique().tolist():
            counts = (drawn == length).sum(dim=1).tolist()
            whole = self.task.sample(sum(counts), length, source, "train")
            positions = self._positions(whole, length, sum(counts), number)
            tokens, targets = torch.split(whole.tokens, counts), torch.split(whole.targets, counts)
            split = [positions] * BLOCK if positions is None or len(positions) == 1 else torch.split(positions, counts)
            for step, count in enumerate(counts):
                if count:
                    steps[step].append(Batch(tokens[step], targets[step], split[step]))
        return steps

    def _positions(self, batch: Batch, length: int, rows: int, *name: int) -> Int[Tensor, "#b n axes"] | None:
        config = self.config
        if config.coverage == "plain":
            return batch.positions
        source = generator(config.seed, "positions", length, *name)
        sides = self.task.sides(length)
        return draw(config.coverage, sides=sides, limit=config.position_limit, generator=source, rows=rows)

    def _dataset(self, size: int) -> list[Batch]:
        """One block per training length, of equal shares."""
        return [
            self.task.sample(share, length, generator(self.config.seed, "dataset", length), "train")
            for length, share in enumerate(shares(size, self.config.train_lengths), start=self.low)
        ]

    def _from_dataset(self, step: int, blocks: list[Batch]) -> list[Batch]:
        """The next sequences in the epoch's order, whatever their lengths."""
        sizes = [len(block.tokens) for block in blocks]
        epoch, at = divmod(step, -(-sum(sizes) // self.config.batch))
        if self.order[0] != epoch:
            self.order = (epoch, torch.randperm(sum(sizes), generator=generator(self.config.seed, "order", epoch)))
        chosen = self.order[1][at * self.config.batch : (at + 1) * self.config.batch]
        parts, before = [], 0
        for length, (block, size) in enumerate(zip(blocks, sizes, strict=True), start=self.low):
            rows = chosen[(chosen >= before) & (chosen < before + size)] - before
            if len(rows):
                positions = self._positions(block, length, len(rows), step)
                parts.append(Batch(block.tokens[rows], block.targets[rows], positions))
            before += size
        return parts


@dataclass(frozen=True)
class PackedBatch:
    """The model's input in one step: sequences of several lengths in one row, or of one length in rows."""

    tokens: Int[Tensor, "b n"]
    targets: Int[Tensor, "*answers"]
    positions: Int[Tensor, "#b n axes"] | None
    document_ids: Int[Tensor, "1 n"] | None

    def to(self, device: torch.device) -> "PackedBatch":
        positions, document_ids = to_device(self.positions, device), to_device(self.document_ids, device)
        return PackedBatch(self.tokens.to(device), self.targets.to(device), positions, document_ids)


def to_device(tensor: Tensor | None, device: torch.device) -> Tensor | None:
    return None if tensor is None else tensor.to(device)


def pack(parts: list[Batch]) -> PackedBatch:
    """All parts as one. A row of documents costs no padding, and the model keeps them apart."""
    if len(parts) == 1:
        return PackedBatch(parts[0].tokens, parts[0].targets, parts[0].positions, None)
    tokens = torch.cat([part.tokens.flatten() for part in parts])[None]
    targets = torch.cat([part.targets.flatten() for part in parts])
    widths = torch.tensor([part.tokens.shape[1] for part in parts])
    counts = torch.tensor([len(part.tokens) for part in parts])
    document_ids = torch.repeat_interleave(torch.arange(int(counts.sum())), widths.repeat_interleave(counts))[None]
    positions = [part.positions.expand(len(part.tokens), -1, -1) for part in parts if part.positions is not None]
    placed = torch.cat([rows.flatten(0, 1) for rows in positions])[None] if positions else None
    return PackedBatch(tokens, targets if parts[0].targets.dim() == 1 else targets[None], placed, document_ids)


@dataclass(frozen=True)
class EvaluationSet:
    """Sequences that every encoding and every seed is scored on."""

    split: Split
    length: int
    batch: Batch
    hash: str


def evaluation_set(task: Task, text: str, split: Split, length: int, count: int) -> EvaluationSet:
    """A frozen set, from a seed that no training stream uses."""
    source = generator(0, "evaluation", text, split, length, count)
    batch = task.sample(count, length, source, "shift" if split == "shift" else "id")
    return EvaluationSet(split, length, batch, _hash(batch.tokens, batch.targets))


def evaluation_sets(config: RunConfig, task: Task) -> list[EvaluationSet]:
    """Validation and test in distribution, longer sequences, and shifted ones where the task has them."""
    longest = max(config.test_lengths)
    wanted: list[RangeKey] = [("valid", longest)]
    wanted += [("id", n) for n in config.test_lengths] + [("ood", n) for n in config.ood_lengths]
    if "shift" in task.splits:  # at the trained length, and at twice that
        wanted += [("shift", n) for n in (longest, 2 * longest) if n in (longest, *config.ood_lengths)]
    return [evaluation_set(task, config.task, split, n, config.evaluation_sequences) for split, n in wanted]


def overlap(data: TrainingData, steps: int, sets: list[EvaluationSet]) -> dict[str, float]:
    """The share of each set's sequences that also occurred in training, by the hash of the set.

    Training batches are drawn again: a run keeps none in memory.
    """
    widths = {chosen.batch.tokens.shape[1] for chosen in sets}
    shown: set[bytes] = set()
    for step in range(steps):
        for part in data.parts(step):
            if part.tokens.shape[1] in widths:
                shown.update(row.tobytes() for row in part.tokens.numpy())
    return {
        chosen.hash: sum(row.tobytes() in shown for row in chosen.batch.tokens.numpy()) / len(chosen.batch.tokens)
        for chosen in sets
    }


def _hash(*tensors: Int[Tensor, "..."]) -> str:
    whole = hashlib.sha256()
    for tensor in tensors:
        whole.update(str(tuple(tensor.shape)).encode() + tensor.contiguous().numpy().tobytes())
    return whole.hexdigest()[:16]
