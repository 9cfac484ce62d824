"""Adam and AdamW, fused."""

import torch

from ordinate.model import Transformer
from ordinate.training.config import RunConfig


def make_optimizer(config: RunConfig, model: Transformer) -> torch.optim.Optimizer:
    """Weight decay acts on matrices of the network alone: what an encoding trains is its own affair."""
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, weight in model.named_parameters():
        decays = weight.dim() >= 2 and not name.startswith("encodings.")
        (matrices if decays else others).append(weight)
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=config.lr, betas=(config.betas[0], config.betas[1]), fused=True)
