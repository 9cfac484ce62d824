"""Time: of a whole run, estimated from a few steps; and of several functions, measured in turns."""

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ordinate.store import Store
from ordinate.training import environment
from ordinate.training.config import RunConfig
from ordinate.training.data import EvaluationSet, pack
from ordinate.training.evaluate import TOKENS, evaluate
from ordinate.training.result import EXAMPLES, LONGEST_MAP
from ordinate.training.trainer import CURVE_SEQUENCES, TaskTrainer, check_every

STEPS = 4  # timed, after one that is not
JOURNAL = 60_000  # bytes of journal, result and configuration


@dataclass(frozen=True)
class Estimate:
    """For one run, on one core of this machine."""

    step: float  # seconds, checks included
    scoring: float  # seconds, at the end
    bytes: int

    def seconds(self, steps: int) -> float:
        """Of a run to the end of its budget; one that learns its task needs less."""
        return self.step * steps + self.scoring


def estimate(config: RunConfig) -> Estimate:
    """Train a few steps and score a few sequences, then throw all of it away."""
    with environment.prepared(config.threads, config.device):
        run = Store(Path()).run(config.id)  # nothing is written there
        training = TaskTrainer(config, Store(Path()), run)
        training.train_step(pack(training.data.parts(0)))
        begin = time.perf_counter()
        for number in range(1, STEPS + 1):
            training.train_step(pack(training.data.parts(number)))
        step = (time.perf_counter() - begin) / STEPS
        training.model.eval()
        scoring = 0.0
        for chosen in training.sets:
            whole = chosen.batch
            some = max(1, min(len(whole.tokens), TOKENS // whole.tokens.shape[1]))
            part = EvaluationSet(chosen.split, chosen.length, whole.rows(0, some), "")
            begin = time.perf_counter()
            evaluate(training.model, training.task, config, part, draws=1)
            each = (time.perf_counter() - begin) / some
            draws = 1 if config.tested == "plain" else config.coverage_draws
            scoring += each * len(whole.tokens) * draws
            if chosen.split == "valid":
                step += each * min(CURVE_SEQUENCES, len(whole.tokens)) / check_every(config, training.task)
    weights = sum(p.numel() * p.element_size() for p in training.model.parameters())
    inside = min(training.task.width(max(config.test_lengths)), LONGEST_MAP)
    maps = 4 * EXAMPLES * config.model.layers * config.model.heads * inside**2
    return Estimate(step, scoring, weights + maps + JOURNAL)


def in_turns(functions: Mapping[str, Callable[[], object]], *, rounds: int, warmup: int = 3) -> dict[str, list[float]]:
    """Seconds of each function in each round. Rounds and a rotating order expose all of them to the same other load."""
    for _ in range(warmup):
        for run in functions.values():
            run()
    times: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            shift = turn % len(names)
            for name in names[shift:] + names[:shift]:
                start = time.perf_counter()
                functions[name]()
                times[name].append(time.perf_counter() - start)
    finally:
        if collecting:
            gc.enable()
    return times
