"""Time: of a whole run, estimated from a few steps; and of several functions, measured in turns."""

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ordinate.model import pick_device
from ordinate.store import Store
from ordinate.training import environment
from ordinate.training.config import RunConfig
from ordinate.training.data import EvaluationSet, pack
from ordinate.training.evaluate import TOKENS, evaluate
from ordinate.training.result import EXAMPLES, LONGEST_MAP
from ordinate.training.trainer import CURVE_SEQUENCES, TaskTrainer, check_every

STEPS = 4  # timed, after one that is not
BUSIEST = 3.0  # a moment in which nearly nothing is left for the timing says little about an hour
JOURNAL = 60_000  # bytes of journal, result and configuration


@dataclass(frozen=True)
class Estimate:
    """For one run, on one core of this machine."""

    step: float  # seconds, checks included
    scoring: float  # seconds, at the end
    bytes: int
    busy: float = 1.0  # how many times as long it takes beside whatever else runs here now

    def seconds(self, steps: int) -> float:
        """Of a run to the end of its budget; one that learns its task needs less."""
        return self.step * steps + self.scoring


def estimate(config: RunConfig) -> Estimate:
    """Train a few steps and score a few sequences, then throw all of it away.

    Processor time is counted, which hardly depends on what else runs; the time that passes meanwhile shows how much.
    """
    clock = time.thread_time if pick_device(config.device).type == "cpu" else time.perf_counter
    whole_cpu, whole_wall = clock(), time.perf_counter()
    with environment.prepared(config.threads, config.device):
        run = Store(Path()).run(config.id)  # nothing is written there
        training = TaskTrainer(config, Store(Path()), run)
        training.train_step(pack(training.data.parts(0)))
        begin = clock()
        for number in range(1, STEPS + 1):
            training.train_step(pack(training.data.parts(number)))
        step = (clock() - begin) / STEPS
        training.model.eval()
        scoring = 0.0
        for chosen in training.sets:
            whole = chosen.batch
            some = max(1, min(len(whole.tokens), TOKENS // whole.tokens.shape[1]))
            part = EvaluationSet(chosen.split, chosen.length, whole.rows(0, some), "")
            begin = clock()
            evaluate(training.model, training.task, config, part, draws=1)
            each = (clock() - begin) / some
            draws = 1 if config.tested == "plain" else config.coverage_draws
            scoring += each * len(whole.tokens) * draws
            if chosen.split == "valid":
                step += each * min(CURVE_SEQUENCES, len(whole.tokens)) / check_every(config, training.task)
    passed = (time.perf_counter() - whole_wall) / max(1e-9, clock() - whole_cpu)
    weights = sum(p.numel() * p.element_size() for p in training.model.parameters())
    inside = min(training.task.width(max(config.test_lengths)), LONGEST_MAP)
    maps = 4 * EXAMPLES * config.model.layers * config.model.heads * inside**2
    return Estimate(step, scoring, weights + maps + JOURNAL, min(BUSIEST, max(1.0, passed)))


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
