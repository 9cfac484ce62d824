"""How long a run will take and how much it will keep, from a few steps of it."""

import time
from dataclasses import dataclass
from pathlib import Path

from ordinate.store import Store
from ordinate.training import environment
from ordinate.training.config import RunConfig
from ordinate.training.data import EvaluationSet, pack
from ordinate.training.evaluate import TOKENS, evaluate
from ordinate.training.loop import CHECKED, Training, check_every
from ordinate.training.result import EXAMPLES, LONGEST_MAP

STEPS = 4  # timed, after one that is not
JOURNAL = 60_000  # bytes of journal, result and configuration


@dataclass(frozen=True)
class Estimate:
    """For one run, on one core of this machine."""

    seconds: float
    bytes: int


def estimate(config: RunConfig) -> Estimate:
    """Train a few steps and score a few sequences, then throw all of it away."""
    with environment.prepared(config.threads, config.device):
        run = Store(Path()).run(config.id)  # nothing is written there
        made = Training(config, Store(Path()), run, lambda progress: None)
        made.update(pack(made.data.parts(0)))
        begin = time.perf_counter()
        for number in range(1, STEPS + 1):
            made.update(pack(made.data.parts(number)))
        step = (time.perf_counter() - begin) / STEPS
        made.model.eval()
        scoring = 0.0
        for chosen in made.sets:
            whole = chosen.batch
            some = max(1, min(len(whole.tokens), TOKENS // whole.tokens.shape[1]))
            part = EvaluationSet(chosen.split, chosen.length, whole.rows(0, some), "")
            begin = time.perf_counter()
            evaluate(made.model, made.task, config, part)
            each = (time.perf_counter() - begin) / some
            scoring += each * len(whole.tokens)
            if chosen.split == "valid":
                scoring += each * CHECKED * config.steps / check_every(config, made.task)
    weights = sum(p.numel() * p.element_size() for p in made.model.parameters())
    inside = min(made.task.width(max(config.test_lengths)), LONGEST_MAP)
    maps = 4 * EXAMPLES * config.model.layers * config.model.heads * inside**2
    return Estimate(step * config.steps + scoring, weights + maps + JOURNAL)
