"""Experiment trackers that get the metrics of a run beside its journal, with tokens as their axis."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from importlib import import_module

from ordinate.core.errors import InputError, nearest
from ordinate.core.extras import optional
from ordinate.lm.checkpoint_folder import CheckpointFolder

Metrics = dict[str, float]


class WeightsAndBiases:
    """A wandb run with a token axis. Without an API key it is written to the folder, to be synced later."""

    def __init__(self, folder: CheckpointFolder, group: str) -> None:
        wandb = optional("wandb")
        known = os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_MODE")
        # A resumed run keeps its id; a branch is a separate run in its trunk's group.
        name, content = folder.path.name, json.dumps(folder.identity, sort_keys=True).encode()
        own = f"{re.sub(r'[^A-Za-z0-9_-]', '-', name)}-{sha256(content).hexdigest()[:8]}"
        self.run = wandb.init(
            project="ordinate", name=name, id=own, group=group, resume="allow",
            dir=folder.path, config=folder.identity, mode=None if known else "offline",
            settings=wandb.Settings(silent=True),
        )  # fmt: skip
        self.run.define_metric("tokens")
        self.run.define_metric("*", step_metric="tokens")

    def log(self, tokens: int, metrics: Metrics) -> None:
        self.run.log({"tokens": tokens, **metrics})

    def close(self) -> None:
        self.run.finish()


class TensorBoard:
    """TensorBoard event files; the step is the number of tokens."""

    def __init__(self, folder: CheckpointFolder, group: str) -> None:
        optional("tensorboard")
        self.writer = import_module("torch.utils.tensorboard").SummaryWriter(str(folder.path / "tensorboard"))

    def log(self, tokens: int, metrics: Metrics) -> None:
        for name, value in metrics.items():
            self.writer.add_scalar(name, value, global_step=tokens)

    def close(self) -> None:
        self.writer.close()


Sink = WeightsAndBiases | TensorBoard
SINKS: dict[str, type[Sink]] = {"wandb": WeightsAndBiases, "tensorboard": TensorBoard}


@contextmanager
def opened(names: Sequence[str], folder: CheckpointFolder, group: str) -> Iterator[list[Sink]]:
    """The trackers of these names for a folder, closed at the end."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(SINKS[known(name)](folder, group))) for name in names]


def known(name: str) -> str:
    """The name, if a tracker has it."""
    if name not in SINKS:
        raise InputError(f"no tracker is called {name!r}: {nearest(name, SINKS)}")
    return name
