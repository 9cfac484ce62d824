"""A finished run as probes need it: its model with the trained weights, the same model untrained, and fresh examples.

Nothing in the run's folder is ever written.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Int
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from ordinate.core.coverage import draw
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator
from ordinate.core.task import Batch, Task
from ordinate.model import Transformer
from ordinate.probes.attention_patterns import Targets
from ordinate.store import Run
from ordinate.store.files import read_bytes
from ordinate.store.sums import check_files
from ordinate.training.config import RunConfig, rebuild
from ordinate.training.data import EvaluationSet
from ordinate.training.evaluate import evaluate, longest_input

WEIGHTS = "model.safetensors"
FEWEST = 4  # sequences: some to fit readers to, others to test them on


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """Both models are in evaluation mode, on the CPU."""

    id: str
    config: RunConfig
    task: Task
    model: Transformer
    untrained: Transformer
    learned: bool
    gradient_norms: tuple[tuple[int, float], ...]  # of the whole model, by step; from the journal

    @property
    def encoding(self) -> str:
        encoding = self.config.model.encoding
        return encoding if isinstance(encoding, str) else ", ".join(encoding)

    @property
    def seed(self) -> int:
        return self.config.seed

    @property
    def metric(self) -> str:
        return self.task.metric

    @property
    def lower_is_better(self) -> bool:
        return self.task.direction == "lower"

    @property
    def trained_length(self) -> int:
        return self.config.model.length

    @property
    def shift_within(self) -> tuple[int, int] | None:
        """Half the longest trained length, or the shortest, up to the end of the trained range."""
        trained = self.config.train_lengths
        length = max(trained[0], trained[-1] // 2)
        may_move = length < trained[-1] and self.config.tested == "plain" and self.task.axes == 1
        return (length, trained[-1] - length) if may_move else None

    @property
    def repeatable(self) -> bool:
        config = self.config.model
        return config.causal and config.axes == 1 and self.config.tested == "plain"

    @property
    def length(self) -> int:
        """The longest tested length in distribution."""
        return max(self.config.test_lengths)

    @property
    def lengths(self) -> tuple[int, ...]:
        """All tested lengths that the encoding can take, the shortest first."""
        tested = sorted({*self.config.test_lengths, *self.config.ood_lengths})
        return tuple(length for length in tested if self.fits(length))

    def fits(self, length: int, shift: int = 0) -> bool:
        """Whether the encodings take the positions of a sequence of this length that is moved by `shift`."""
        drawn = self.config.position_limit if self.config.tested != "plain" else 0
        highest = max(*self.task.sides(length), drawn) + shift
        return highest + (self.task.readout == "readout") <= longest_input(self.model)

    def examples(self, length: int, count: int, *, shared: bool = False) -> Batch:
        """Problems that were not trained on, with explicit positions; `shared`: one row of positions for all."""
        batch = self.task.sample(count, length, generator(0, "probe", self.config.task, length, count), "id")
        return Batch(batch.tokens, batch.targets, self._positions(batch, length, 1 if shared else count))

    def width(self, length: int) -> int:
        return self.task.width(length)

    def targets(self, batch: Batch) -> Targets:
        return Targets.of(self.task, batch.tokens)

    def score(self, batch: Batch, length: int) -> float | None:
        """The task's metric; none if the positions exceed what an encoding takes."""
        plain = replace(self.config, test_coverage="plain")  # positions are given
        try:
            found = evaluate(self.model, self.task, plain, EvaluationSet("id", length, batch, ""))
        except InputError:  # a position past the last one that the encoding has
            return None
        return None if found is None else found[self.task.metric]

    def _positions(self, batch: Batch, length: int, rows: int) -> Int[Tensor, "#b n axes"]:
        if self.config.tested == "plain":
            given = batch.positions
            return torch.arange(batch.tokens.shape[1]).view(1, -1, 1) if given is None else given
        source = generator(0, "probe", "positions", length)
        limit = self.config.position_limit
        return draw(self.config.tested, sides=self.task.sides(length), limit=limit, generator=source, rows=rows)


def open_run(run: Run) -> TrainedRun:
    """Refuse a run that is not done, diverged, or kept no weights."""
    stored: Any = run.config
    if not run.done:
        raise InputError(
            f"run {run.id} is {run.state} at step {run.step}: probes need a finished one, train it to its end"
        )
    result = run.result
    if result.diverged:
        raise InputError(f"run {run.id} diverged at step {result.steps}: nothing can be read from its weights")
    if WEIGHTS not in result.files:
        raise InputError(f"run {run.id} kept no weights ({WEIGHTS}): train it again in another store to probe it")
    check_files(run.folder, {name: text for name, text in result.files.items() if name == WEIGHTS})
    config = rebuild(stored)
    model, untrained = (Transformer(config.model, seed=config.seed).eval() for _ in range(2))
    try:
        model.load_state_dict(load(read_bytes(run.folder / WEIGHTS)))
    except (SafetensorError, RuntimeError) as error:
        raise InputError(f"{run.folder / WEIGHTS} does not hold the weights of this model: train it again") from error
    norms = tuple((r.step, r.value) for r in _journal(run) if r.metric == "gradient_norm" and r.value is not None)
    learned = result.bar is None or result.training_end().learned  # a loss has no bar
    return TrainedRun(run.id, config, config.make_task(), model, untrained, learned, norms)


def _journal(run: Run) -> list[Any]:
    """A store that was packed without journals has none."""
    return list(run.records()) if run.journal.path.exists() else []


def check_sequences(count: int) -> None:
    """Refuse so few examples that a reader would have nothing to be tested on."""
    if count < FEWEST:
        raise InputError(f"probes need at least {FEWEST} sequences, to fit readers and to test them, got {count}")
