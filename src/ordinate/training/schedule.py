"""The learning rate as a function of the step and of when the task was learned, and of nothing else."""

import math

from ordinate.training.config import RunConfig

LEAST = 100  # steps of decay after a task was learned


def ending(config: RunConfig, learned: int | None) -> tuple[int, int]:
    """The first step of the decay, and the number of steps in all.

    Whoever has learned the task trains as long again while the rate decays, within the budget; whoever has not goes to
    the end of the budget, over the last part of which the rate decays.
    """
    last = config.steps - round(config.decay * config.steps)
    if config.budget == "fixed" or learned is None or learned >= last:
        return last, config.steps
    begin = max(learned, config.warmup)
    return begin, min(config.steps, begin + max(begin, LEAST))


def rate(config: RunConfig, step: int, learned: int | None = None) -> float:
    """The rate of step 0, 1, ... It rises linearly over the warm-up and is never 0."""
    if step < config.warmup:
        return config.lr * (step + 1) / (config.warmup + 1)
    done = (step - config.warmup) / (config.steps - config.warmup)  # 0 at the top, 1 just past the last step
    match config.schedule:
        case "cosine":
            return config.lr * 0.5 * (1 + math.cos(math.pi * done))
        case "linear":
            return config.lr * (1 - done)
        case "wsd":
            begin, end = ending(config, learned)
            # 1 - sqrt, with one virtual step more so that the last is above 0
            return config.lr * (1 - math.sqrt((step - begin + 1) / (end - begin + 1))) if step >= begin else config.lr
    return config.lr
