"""The learning rate as a function of the step, and of nothing else."""

import math

from ordinate.training.config import RunConfig


def rate(config: RunConfig, step: int) -> float:
    """The rate of step 0, 1, ..., steps - 1. It rises linearly over the warm-up and is never 0."""
    warm = round(config.warmup * config.steps)
    if step < warm:
        return config.lr * (step + 1) / (warm + 1)
    left = config.steps - warm
    done = (step - warm) / left  # 0 at the top, 1 just past the last step
    match config.schedule:
        case "cosine":
            return config.lr * 0.5 * (1 + math.cos(math.pi * done))
        case "linear":
            return config.lr * (1 - done)
        case "wsd":
            down = round(config.decay * config.steps)
            into = step - (config.steps - down)
            # 1 - sqrt, with one virtual step more so that the last is above 0
            return config.lr * (1 - math.sqrt((into + 1) / (down + 1))) if into >= 0 else config.lr
    return config.lr
