"""The learning rate: a linear warm-up, a plateau, and a decay."""

import math
from dataclasses import dataclass
from typing import Literal

from ordinate.training.config import RunConfig

DecayShape = Literal["cosine", "linear", "sqrt"]
LEAST = 100  # steps of decay after a task was learned


@dataclass(frozen=True)
class Schedule:
    """The rate as a function of the step 0, 1, ... and of nothing else. It is never 0."""

    peak: float
    rise: int  # the rate of step i is peak * (i + 1) / rise, up to the peak
    top: int | None = None  # the last step at the peak; none: the rate never decays
    end: int = 0  # the first step that is not taken, where the decay would reach `floor`
    shape: DecayShape = "sqrt"
    floor: float = 0.0  # share of the peak

    def rate(self, step: int) -> float:
        if step + 1 < self.rise:
            return self.peak * (step + 1) / self.rise
        if self.top is None or step <= self.top:
            return self.peak
        left = remaining(self.shape, (step - self.top) / (self.end - self.top))
        return self.peak * (self.floor + (1 - self.floor) * left)


def remaining(shape: DecayShape, done: float) -> float:
    """The share of the rate that is left when a share of the decay is done."""
    match shape:
        case "cosine":
            return 0.5 * (1 + math.cos(math.pi * done))
        case "linear":
            return 1 - done
        case "sqrt":  # falls fast at first
            return 1 - math.sqrt(done)


def ending(config: RunConfig, learned: int | None) -> tuple[int, int]:
    """The first step of the decay, and the number of steps in all.

    A run that has learned the task trains for as many steps again while the rate decays, within the budget. A run that
    has not uses the whole budget, and the rate decays over its last part.
    """
    last = config.steps - round(config.decay * config.steps)
    if config.budget == "fixed" or learned is None or learned >= last:
        return last, config.steps
    begin = max(learned, config.warmup)
    return begin, min(config.steps, begin + max(begin, LEAST))


def task_schedule(config: RunConfig, learned: int | None = None) -> Schedule:
    """The schedule of a run on a task that was learned at this step, or not yet."""
    rise = config.warmup + 1
    match config.schedule:
        case "constant":
            return Schedule(config.lr, rise)
        case "wsd":
            begin, end = ending(config, learned)
            return Schedule(config.lr, rise, begin - 1, end)
        case shape:
            return Schedule(config.lr, rise, config.warmup, config.steps, shape)
