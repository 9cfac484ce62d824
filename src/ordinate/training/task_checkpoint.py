"""The checkpoint of a run on a task, and what its folder must hold so that it can be resumed."""

import os
from dataclasses import dataclass

import torch

from ordinate.core.errors import InputError
from ordinate.model import Transformer
from ordinate.store import Run
from ordinate.training import checkpoint
from ordinate.training.checkpoint import TrainingState
from ordinate.training.config import RunConfig, rebuild
from ordinate.training.optimizer import make_optimizer

NAME = "checkpoint.pt"
NORMS = ("embedding_norm", "encoding_norm")  # written once, at the start of a run, and needed at its end


@dataclass(frozen=True)
class TaskState(TrainingState):
    """How far a run on a task is."""

    journal_sum: str  # hash of those bytes of the journal
    first_loss: float
    status: str
    above: int | None  # the first of the checks at the bar that the last one belongs to
    learned: int | None  # the step of the second such check in a row

    def check(self, last: int) -> None:
        super().check(last)
        first, learned = self.above or 0, self.learned or 0
        if not 0 <= min(first, learned) <= max(first, learned) <= self.step or (learned and not first):
            raise ValueError(f"learned is {self.learned} and above is {self.above} at step {self.step}")
        if self.status not in ("finished", "diverged"):
            raise ValueError(f"status is {self.status!r}")


def task_optimizer(config: RunConfig, model: Transformer) -> torch.optim.Optimizer:
    """The optimizer of a run on a task."""
    return make_optimizer(
        model, lr=config.lr, betas=config.betas, weight_decay=config.weight_decay, kind=config.optimizer
    )


def restore(run: Run, model: Transformer, optimizer: torch.optim.Optimizer, steps: int) -> TaskState | None:
    """Restore the saved state, if there is one; refuse it without the journal that belongs to it.

    All of it is checked before anything in the folder is changed.
    """
    if not os.path.lexists(run.folder / NAME):
        return None
    saved = checkpoint.load(run.folder / NAME, run.id, model, optimizer, TaskState, last=steps)
    run.journal.check(saved.journal)
    if saved.journal_sum != run.journal.sum(saved.journal):
        raise InputError(f"{run.journal.path} is damaged (not what its checkpoint goes with): move the folder away")
    missing, last = set(NORMS), 0
    for record in run.records(saved.journal):
        missing.discard(record.metric)
        last = record.step
    if missing or last > saved.step:
        what = f"it has no {min(missing)}" if missing else f"step {last} comes after its checkpoint's {saved.step}"
        raise InputError(f"{run.journal.path} is damaged ({what}): move the run's folder away")
    return saved


def check_resumable(run: Run) -> None:
    """Refuse an interrupted run that cannot be resumed, if this program can build its model at all."""
    try:
        config = rebuild(run.config)
        model = Transformer(config.model, seed=config.seed)
    except InputError:
        return  # of an encoding, say, that is not installed here: nothing is wrong with the run
    restore(run, model, task_optimizer(config, model), config.steps)
