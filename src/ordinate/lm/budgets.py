"""Budgets in tokens: where each branch leaves the trunk and ends, and its rate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ordinate.core.errors import InputError
from ordinate.lm.config import Decay, TrunkConfig
from ordinate.lm.token_counts import write_tokens
from ordinate.training.optimizer import Schedule


@dataclass(frozen=True)
class Branch:
    """A budget: it leaves the trunk at step `begin`, where the decay starts, and ends after `end` steps."""

    budget: int  # tokens, as given
    begin: int
    end: int
    decay: Decay


def branch(config: TrunkConfig, budget: int, decay: Decay) -> Branch:
    """The steps of a budget, in whole batches. A budget without a plateau is refused."""
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
    """The budgets from small to large; two with the same branch point are refused."""
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


def branch_schedule(config: TrunkConfig, branch: Branch | None = None) -> Schedule:
    """The learning rate of a trunk, or of a branch: nothing before the branch point depends on the budget."""
    if branch is None:
        return Schedule(config.lr, config.warmup)
    decay = branch.decay
    return Schedule(config.lr, config.warmup, branch.begin - 1, branch.end, decay.shape, decay.floor)
