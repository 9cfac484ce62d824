"""The optimizer of every run, one update of the weights, and the learning-rate schedule."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ordinate.training.config import Adam, RunConfig

DecayShape = Literal["cosine", "linear", "sqrt"]
LEAST = 100  # steps of decay after a task was learned


def make_optimizer(
    model: nn.Module, *, lr: float, betas: Sequence[float], weight_decay: float, kind: Adam = "adamw"
) -> torch.optim.Optimizer:
    """Adam or AdamW, fused. Weight decay acts on matrices of the network, never on an encoding's own parameters."""
    groups: list[dict[str, Any]] = [{"params": [], "weight_decay": decay} for decay in (weight_decay, 0.0)]
    for name, weight in model.named_parameters():
        decays = weight.dim() >= 2 and not name.startswith("encodings.")
        groups[0 if decays else 1]["params"].append(weight)
    cls = torch.optim.AdamW if kind == "adamw" else torch.optim.Adam
    return cls(groups, lr=lr, betas=(betas[0], betas[1]), fused=True)


def task_optimizer(config: RunConfig, model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer of a run on a task."""
    return make_optimizer(
        model, lr=config.lr, betas=config.betas, weight_decay=config.weight_decay, kind=config.optimizer
    )


def apply_gradients(model: nn.Module, optimizer: torch.optim.Optimizer, *, lr: float, clip: float) -> Tensor:
    """Clip the gradient to a norm of at most `clip` (0: no limit), update the weights, and return the norm before."""
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return whole(norm)


def whole(tensor: Tensor) -> Tensor:
    """The tensor itself, or all shards of a DTensor. Importing `torch.distributed.tensor` to check takes a second."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


@dataclass(frozen=True)
class Schedule:
    """A linear warm-up, a plateau and a decay: a function of the step 0, 1, ... alone. The rate is never 0."""

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
