"""Gradient norms of the loss: by layer, and into each parameter of the encoding."""

import math
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from ordinate.core.task import UNSCORED, Batch
from ordinate.model import Transformer
from ordinate.probes.learned_parameters import encoding_parameters


@dataclass(frozen=True)
class GradientProbe:
    """sqrt(sum of squares) of dL/dw over the weights of each part, for the loss L of one batch, now.

    What flowed during training is known for the whole model alone, from the journal.
    """

    embedding: float
    layers: tuple[float, ...]
    encoding: dict[str, float]  # by parameter


def gradient_norms(model: Transformer, batch: Batch) -> GradientProbe:
    """The gradients are computed beside the model: its own are left as they are."""
    named = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    logits = model(batch.tokens, positions=batch.positions)
    loss = F.cross_entropy(logits.flatten(0, -2), batch.targets.flatten(), ignore_index=UNSCORED)
    gradients = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    squares = {
        name: 0.0 if gradient is None else float(gradient.double().square().sum())
        for name, gradient in zip(named, gradients, strict=True)
    }

    def norm(start: str) -> float:
        return math.sqrt(sum(square for name, square in squares.items() if name.startswith(start)))

    return GradientProbe(
        embedding=norm("embedding."),
        layers=tuple(norm(f"blocks.{layer}.") for layer in range(len(model.blocks))),
        encoding={
            label: math.sqrt(squares[name])
            for name, weight in named.items()
            for label, own in encoding_parameters(model).items()
            if own is weight
        },
    )
