"""Budgets in tokens, written 2.4B, 500M or 20k: where each branch leaves the trunk and ends, and its rate."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from ordinate.core.errors import InputError
from ordinate.lm.config import Decay, TrunkConfig
from ordinate.training.optimizer import Schedule

UNITS = {"T": 10**12, "B": 10**9, "M": 10**6, "k": 10**3}
MOST = 10**15  # more than any corpus has


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


def parse_tokens(text: str) -> int:
    """`2.4B` as 2,400,000,000."""
    match = re.fullmatch(r"(\d{1,20}(?:_?\d)*(?:\.\d{1,12})?)([kKmMbBtT]?)", text.strip())
    if match is None:
        raise InputError(f"expected a number of tokens, as in 2.4B, 500M or 20k, got {text.strip()[:40]!r}")
    unit = next((size for name, size in UNITS.items() if name.lower() == match[2].lower()), 1)
    count = Decimal(match[1].replace("_", "")) * unit
    if count != int(count) or not 1 <= count <= MOST:
        raise InputError(f"a number of tokens is whole and from 1 to {write_tokens(MOST)}, got {text.strip()[:40]}")
    return int(count)


def write_tokens(count: int) -> str:
    """What `parse_tokens` reads back, as short as it can be without rounding."""
    for name, unit in UNITS.items():
        if count >= unit:
            return f"{(Decimal(count) / unit).normalize():f}{name}"
    return str(count)
