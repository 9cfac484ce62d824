"""Budgets, and the learning rate: a function of the step and of where the budget ends, and of nothing else."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ordinate.core.errors import InputError
from ordinate.lm.amount import write_tokens
from ordinate.lm.config import Decay, TrunkConfig


@dataclass(frozen=True)
class Branch:
    """A budget: it leaves the trunk at step `begin`, where its rate starts to fall, and ends after `end` steps."""

    budget: int  # tokens, as asked for
    begin: int
    end: int
    decay: Decay


def branch(config: TrunkConfig, budget: int, decay: Decay) -> Branch:
    """The steps of a budget, in whole batches. What leaves no plateau is refused."""
    end = round(budget / config.step_tokens)
    falling = max(1, round(decay.share * end))
    if end - falling <= config.warmup:
        least = math.ceil((config.warmup + 2) / (1 - decay.share)) * config.step_tokens
        raise InputError(
            f"a budget of {write_tokens(budget)} tokens is {end:,} steps of {config.step_tokens:,}: a warm-up of "
            f"{config.warmup:,} and a decay of {falling:,} leave no plateau; "
            f"give at least {least:,} tokens, or a shorter warmup"
        )
    return Branch(budget, end - falling, end, decay)


def branches(config: TrunkConfig, budgets: Sequence[int], decay: Decay) -> list[Branch]:
    """The budgets from small to large; two that come to the same steps are refused."""
    if not budgets:
        raise InputError("no budget was given: name at least one, as in --budget 2.4B")
    planned = [branch(config, budget, decay) for budget in sorted(budgets)]
    for low, high in pairwise(planned):
        if low.begin >= high.begin:
            raise InputError(
                f"budgets {write_tokens(low.budget)} and {write_tokens(high.budget)} leave the trunk at the same step "
                f"({high.begin:,}): give budgets that are further apart"
            )
    return planned


def rate(config: TrunkConfig, step: int, end: Branch | None = None) -> float:
    """The rate of step 0, 1, ... It rises linearly over the warm-up, stays, falls over a branch, and is never 0."""
    if step < config.warmup:
        return config.lr * (step + 1) / config.warmup
    if end is None or step < end.begin:
        return config.lr
    done = (step - end.begin + 1) / (end.end - end.begin + 1)  # one virtual step more, so that the last is above 0
    left = 1 - (math.sqrt(done) if end.decay.shape == "sqrt" else done)
    return config.lr * (end.decay.floor + (1 - end.decay.floor) * left)
