"""Going on with a run: what its folder must hold for that, looked at before anything in it is changed."""

import torch

from ordinate.core.errors import InputError
from ordinate.model import Transformer
from ordinate.store import Run
from ordinate.training import checkpoint
from ordinate.training.checkpoint import Saved
from ordinate.training.config import rebuild
from ordinate.training.optimizer import make_optimizer
from ordinate.training.result import NORMS


def restore(run: Run, model: Transformer, optimizer: torch.optim.Optimizer, steps: int) -> Saved | None:
    """Put the saved state back, if there is one; refuse it without the journal that belongs to it."""
    saved = checkpoint.load(run.folder, run.id, model, optimizer, steps)
    if saved is None:
        return None
    run.journal.check(saved.journal)
    if saved.journal_sum not in (None, run.journal.sum(saved.journal)):
        raise InputError(f"{run.journal.path} is damaged (not what its checkpoint goes with): move the folder away")
    lacking, last = set(NORMS), 0
    for record in run.records(saved.journal):
        lacking.discard(record.metric)
        last = record.step
    if lacking or last > saved.step:
        what = f"it has no {min(lacking)}" if lacking else f"step {last} comes after its checkpoint's {saved.step}"
        raise InputError(f"{run.journal.path} is damaged ({what}): move the run's folder away")
    return saved


def check(run: Run) -> None:
    """Refuse an interrupted run that cannot be gone on with, if this program can make its model at all."""
    try:
        config = rebuild(run.config)
        model = Transformer(config.model, seed=config.seed)
    except InputError:
        return  # of an encoding, say, that is not installed here: nothing is wrong with it
    restore(run, model, make_optimizer(config, model), config.steps)
