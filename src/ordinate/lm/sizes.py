"""The sizes that language models come in, each with how it is trained."""

from dataclasses import dataclass

import torch

from ordinate.core.errors import InputError, nearest
from ordinate.model import ModelConfig, Transformer, preset


@dataclass(frozen=True)
class Recipe:
    """How a size is trained; its shape is the model preset of the same name."""

    batch: int  # sequences per step
    lr: float
    warmup: int  # steps
    budgets: tuple[int, ...]  # tokens; the last is the usual one

    @property
    def budget(self) -> int:
        return self.budgets[-1]


# The last four as their document has them, at 20 and 40 tokens per parameter. The first two are for a processor alone.
RECIPES = {
    "nano": Recipe(16, 6e-3, 100, (5_000_000, 10_000_000)),
    "micro": Recipe(16, 4e-3, 100, (10_000_000, 20_000_000)),
    "tiny": Recipe(64, 6e-4, 2_000, (1_200_000_000, 2_400_000_000)),
    "small": Recipe(32, 3e-4, 2_000, (3_300_000_000, 6_600_000_000)),
    "medium": Recipe(16, 2e-4, 2_000, (9_400_000_000, 18_800_000_000)),
    "large": Recipe(8, 1e-4, 2_000, (24_200_000_000, 48_400_000_000)),
}


def recipe(size: str) -> Recipe:
    """The recipe of a size."""
    if size not in RECIPES:
        raise InputError(f"unknown size {size!r}: {nearest(size, RECIPES)}")
    return RECIPES[size]


def shape(size: str, encoding: str) -> ModelConfig:
    """The model of a size."""
    recipe(size)
    return preset(size, encoding=encoding)


def parameters(config: ModelConfig) -> tuple[int, int]:
    """How many the network has, and how many its encoding has beside it. No storage is needed to tell."""
    with torch.device("meta"):
        model = Transformer(config)
    own = sum(weight.numel() for weight in model.encodings.parameters())
    return sum(weight.numel() for weight in model.parameters()) - own, own


def flops_per_token(config: ModelConfig) -> int:
    """Of a training step: two per weight of a matrix forward and four back, and causal attention, half of it seen."""
    gates = 2 if config.activation == "swiglu" else 1
    heads = (config.heads + 2 * config.key_heads) * config.head_width
    layer = config.dim * (heads + config.heads * config.head_width + (gates + 1) * config.hidden_width)
    attention = config.heads * config.head_width * config.length  # 2 products, forward and back, over half the keys
    return 6 * (config.layers * (layer + attention) + config.dim * config.outputs)
