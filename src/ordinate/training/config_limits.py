"""Limits of a configuration: the range of its numbers, and the memory of this machine. They are checked before a model
is built, because a model of a billion layers would not be refused but built."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ordinate.core.errors import InputError
from ordinate.core.memory import require_memory
from ordinate.core.parameters import LARGEST_INTEGER, LARGEST_NUMBER, LARGEST_WHOLE
from ordinate.core.positions import LARGEST_POSITION
from ordinate.core.task import Task

if TYPE_CHECKING:
    from ordinate.model import ModelConfig
    from ordinate.training.config import RunConfig

# The largest value of a setting; LARGEST_WHOLE for those not named here.
MOST: dict[str, float] = {
    "seed": LARGEST_INTEGER,
    **dict.fromkeys(("steps", "warmup"), 10**9),  # years of training
    **dict.fromkeys(("train_lengths", "test_lengths", "ood_lengths", "position_limit"), LARGEST_POSITION),
    "length": 2**16,  # measured step by step, each of which takes the square of it
    "memory_length": 2**18,  # measured once
    **dict.fromkeys(("coverage_draws", "rounds"), 10_000),
    "threads": 16 * (os.cpu_count() or 1),  # beyond, threads only wait for each other, until the system refuses more
    **dict.fromkeys(("lr", "weight_decay", "clip", "init_std", "embedding_std"), LARGEST_NUMBER),
}
BLOCK = 64  # steps whose sequences are drawn together: 25 lengths a step, one by one, would cost a tenth of its time
STATE = 16  # bytes per weight: itself, its gradient, and two moments
PAIR = 16  # bytes per token and its target
DRAWN = 16  # bytes per id that drawn positions are chosen from: a random number, its rank, and the ranks in order


def check_numbers(settings: Mapping[str, Any]) -> None:
    """Refuse numbers that are too large for any run; values that are not numbers are checked elsewhere."""
    problems: list[str] = []
    for name, value in settings.items():
        most = MOST.get(name, LARGEST_WHOLE)
        for number in value if isinstance(value, list | tuple) else (value,):
            if isinstance(number, int | float) and abs(number) > most:
                side = f"at most {most:,}" if number > 0 else f"at least {-most:,}"
                problems.append(f"{name} must be {side}, got {number!r}")
    refuse(problems)


def too_small(config: object, **least: float) -> list[str]:
    """A sentence for each setting that is below its least value."""
    values = [(name, bound, getattr(config, name)) for name, bound in least.items()]
    return [f"{name} must be at least {bound:g}, got {value:g}" for name, bound, value in values if value < bound]


def wrong_betas(betas: tuple[float, ...]) -> list[str]:
    """A sentence if these cannot be the betas of Adam."""
    right = len(betas) == 2 and all(0 <= beta < 1 for beta in betas)
    return [] if right else [f"betas must be two numbers from 0 to below 1, got {list(betas)}"]


def refuse(problems: list[str]) -> None:
    """Raise one InputError with all problems, if there are any."""
    if problems:
        raise InputError("; ".join(problems))


def check_memory(config: "RunConfig", task: Task) -> None:
    """Refuse a run that cannot fit into memory. Each part is estimated from below, so what fits is never refused."""
    for what, size in _needs(config, task):
        require_memory(size, what)


def _needs(config: "RunConfig", task: Task) -> Iterator[tuple[str, int]]:
    """Each part of a run with the numbers that decide it, and its bytes."""
    model, (low, high) = config.model, config.train_lengths
    yield f"training a model of dim {model.dim} and {model.layers} layers", STATE * model.weights
    tokens = config.batch * (task.width(low) + task.width(high)) // 2
    yield f"a step with batch {config.batch} at lengths up to {high}", step_bytes(config.model, config.batch, tokens)
    if config.dataset is None:
        yield f"the data of batch {config.batch} at lengths up to {high}", PAIR * BLOCK * tokens
    else:
        yield f"a dataset of {config.dataset} sequences", PAIR * config.dataset * tokens // config.batch
    if config.coverage != "plain":
        rows = config.batch if config.dataset else BLOCK * config.batch
        rows = max(1, rows // (high - low + 1))
        yield f"drawing positions below position_limit {config.position_limit}", DRAWN * rows * config.position_limit
    count, longest = config.evaluation_sequences, max((*config.test_lengths, *config.ood_lengths))
    widths = sum(task.width(length) for length in (*config.test_lengths, *config.ood_lengths))
    yield f"evaluation_sequences {count} at lengths up to {longest}", PAIR * count * widths
    if config.tested != "plain":
        what = f"{count} evaluation_sequences with positions below position_limit {config.position_limit}"
        yield what, DRAWN * count * config.position_limit
    if task.readout == "tokens":  # what baselines count: every token id at every token
        what = f"the baselines of a vocabulary of {task.vocabulary} at length {longest}"
        yield what, 8 * task.width(longest) * (task.vocabulary + task.classes)


def step_bytes(model: "ModelConfig", batch: int, tokens: int) -> int:
    """What one step keeps for its backward pass, at least: per layer the inputs of its matrices, and the logits."""
    answers = tokens if model.readout == "tokens" else batch
    return 4 * (tokens * model.layers * (6 * model.dim + model.hidden) + 2 * answers * model.classes)
