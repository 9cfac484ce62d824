"""A model with its loss as one module, which is what ranks wrap; and the optimizer of its weights."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.lm.config import TrunkConfig
from ordinate.lm.loss import token_losses, total_loss
from ordinate.model import Transformer


class Objective(nn.Module):
    """The losses of predicting each next token: summed in training, each token's own in evaluation."""

    def __init__(self, model: Transformer, *, compiled: bool = False) -> None:
        super().__init__()
        self.model = model
        self.states = torch.compile(model.states, dynamic=False) if compiled else model.states

    def forward(
        self, tokens: Int[Tensor, "b n"], targets: Int[Tensor, "b n"], document_ids: Int[Tensor, "b n"] | None
    ) -> Float[Tensor, ""] | Float[Tensor, "b n"]:
        weight, line = self.model.unembedding, targets.flatten()
        if self.training:
            return total_loss(self.states(tokens, document_ids).flatten(0, 1), weight, line)
        with torch.no_grad():  # not compiled, so that other lengths cost no compilation
            states = self.model.states(tokens, document_ids)
        return token_losses(states.flatten(0, 1), weight, line).view_as(targets)


def make_optimizer(config: TrunkConfig, model: nn.Module) -> torch.optim.Optimizer:
    """AdamW. Weight decay acts on matrices of the network alone: what an encoding trains is its own affair."""
    groups: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for name, weight in model.named_parameters():
        groups[weight.dim() >= 2 and not name.startswith("encodings.")].append(weight)
    return torch.optim.AdamW(
        [
            {"params": groups[True], "weight_decay": config.weight_decay},
            {"params": groups[False], "weight_decay": 0.0},
        ],
        lr=config.lr, betas=(config.betas[0], config.betas[1]), fused=True,
    )  # fmt: skip
