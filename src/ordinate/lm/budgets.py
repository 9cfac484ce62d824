"""Budgets in tokens: where each branch leaves the trunk and ends, and its rate."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ordinate.core.config import build
from ordinate.core.errors import InputError
from ordinate.lm.config import Decay, TrunkConfig, change_encoding
from ordinate.lm.token_counts import write_tokens
from ordinate.training.optimizer import Schedule


@dataclass(frozen=True)
class Branch:
    """A budget: it leaves the trunk at step `begin`, where the decay starts, and ends after `end` steps."""

    budget: int  # tokens, as given
    begin: int
    end: int
    decay: Decay


@dataclass(frozen=True)
class ChangedBranch(Branch):
    """A branch that trains on with another encoding or context than its trunk."""

    decay_begin: int  # the first step of the decay; the rate is constant from `begin` to there
    encoding: str
    length: int  # of the context; a step has as many tokens as one of the trunk


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


def change_branch(
    config: TrunkConfig, plain: Branch, encoding: str | None, length: int | None, at: float | None
) -> ChangedBranch:
    """The branch with another encoding and context, left unchanged if None.

    `at`: the share of the budget at which it leaves the trunk; by default where its decay begins.
    """
    begin = plain.begin if at is None else round(at * plain.end)
    if not config.warmup < begin <= plain.begin:
        raise InputError(
            f"a branch at {at:g} of {write_tokens(plain.budget)} leaves the trunk at step {begin:,}: choose a share "
            f"after the warm-up ({config.warmup:,} steps) and up to the decay (step {plain.begin:,} of {plain.end:,})"
        )
    changed = change_encoding(config, encoding or config.encoding, length or config.model.length)
    steps = plain.budget, begin, plain.end, plain.decay
    return ChangedBranch(*steps, plain.begin, changed.encoding, changed.model.length)


def branch_config(config: TrunkConfig, branch: Branch | None) -> TrunkConfig:
    """The configuration that a branch trains with: that of its trunk, unless it changes the encoding or the context."""
    if not isinstance(branch, ChangedBranch):
        return config
    return change_encoding(config, branch.encoding, branch.length)


def read_branch(content: Mapping[str, Any]) -> Branch:
    """The branch that `run.json` describes."""
    kind = ChangedBranch if "encoding" in content else Branch
    return build(kind, content)


def branch_schedule(config: TrunkConfig, branch: Branch | None = None) -> Schedule:
    """The learning rate of a trunk, or of a branch: nothing before the branch point depends on the budget."""
    if branch is None:
        return Schedule(config.lr, config.warmup)
    decay, begin = branch.decay, branch.decay_begin if isinstance(branch, ChangedBranch) else branch.begin
    return Schedule(config.lr, config.warmup, begin - 1, branch.end, decay.shape, decay.floor)
