"""The sizes of language models, each with its training defaults."""

from dataclasses import dataclass

import torch

from ordinate.core.errors import InputError, nearest
from ordinate.model import ModelConfig, Transformer


@dataclass(frozen=True)
class SizeDefaults:
    """How a size is trained by default; its shape is the model preset of the same name."""

    batch: int  # sequences per step
    lr: float
    warmup: int  # steps
    budgets: tuple[int, ...]  # tokens; the last is the default

    @property
    def budget(self) -> int:
        return self.budgets[-1]


# tiny to large: 20 and 40 tokens per parameter. nano and micro train on a CPU.
SIZES = {
    "nano": SizeDefaults(16, 6e-3, 100, (5_000_000, 10_000_000)),
    "micro": SizeDefaults(16, 4e-3, 100, (10_000_000, 20_000_000)),
    "tiny": SizeDefaults(64, 6e-4, 2_000, (1_200_000_000, 2_400_000_000)),
    "small": SizeDefaults(32, 3e-4, 2_000, (3_300_000_000, 6_600_000_000)),
    "medium": SizeDefaults(16, 2e-4, 2_000, (9_400_000_000, 18_800_000_000)),
    "large": SizeDefaults(8, 1e-4, 2_000, (24_200_000_000, 48_400_000_000)),
}


def defaults(size: str) -> SizeDefaults:
    if size not in SIZES:
        raise InputError(f"unknown size {size!r}: {nearest(size, SIZES)}")
    return SIZES[size]


def parameters(config: ModelConfig) -> tuple[int, int]:
    """The number of the network's parameters, and of its encoding's, counted without storage."""
    with torch.device("meta"):
        model = Transformer(config)
    own = sum(weight.numel() for weight in model.encodings.parameters())
    return sum(weight.numel() for weight in model.parameters()) - own, own


def flops_per_token(config: ModelConfig) -> int:
    """FLOPs of a training step per token: two per weight forward and four back, and half of the attention matrix."""
    gates = 2 if config.activation == "swiglu" else 1
    heads = (config.heads + 2 * config.kv_heads) * config.head_dim
    layer = config.dim * (heads + config.heads * config.head_dim + (gates + 1) * config.hidden)
    attention = config.heads * config.head_dim * config.length  # 2 products, forward and back, over half the keys
    return 6 * (config.layers * (layer + attention) + config.dim * config.classes)
