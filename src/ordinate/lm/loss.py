"""Cross-entropy over a large vocabulary, in chunks of tokens, so that all logits never exist at once.

Loss and gradients are computed in one pass: the logits of a chunk are overwritten with its gradients. Recomputing
them in the backward pass, as checkpointing would, costs one product in four more.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.model import Transformer

TOKENS = 256  # of a chunk: with 128, the weight's gradient is updated so often that it takes 5 % longer than at once
LOGITS = 2**20  # of a chunk with more tokens, where the vocabulary is small: 4 MB, which a core's cache nearly holds
MOST = 2**24  # logits of any chunk: 64 MB in float32, 256 tokens of a vocabulary of 65,536


class Objective(nn.Module):
    """A model with its loss as one module, which is what ranks wrap.

    The losses of predicting each next token, or each token at a place in `scored`: summed in training, one per token in
    evaluation.
    """

    def __init__(self, model: Transformer, *, compiled: bool = False) -> None:
        super().__init__()
        self.model = model
        self.states = torch.compile(model.states, dynamic=False) if compiled else model.states

    def forward(
        self,
        tokens: Int[Tensor, "b n"],
        targets: Int[Tensor, "b k"],
        document_ids: Int[Tensor, "b n"] | None,
        scored: Int[Tensor, "b k"] | None = None,
    ) -> Float[Tensor, ""] | Float[Tensor, "b k"]:
        weight, line = self.model.unembedding, targets.flatten()
        if self.training:
            # Tokens of a corpus are below its vocabulary: to look would make an accelerator wait.
            states = self.states(tokens, document_ids, trusted=True)
            return total_loss(states_at(states, scored).flatten(0, 1), weight, line)
        with torch.no_grad():  # not compiled, so that other lengths cost no compilation
            states = states_at(self.model.states(tokens, document_ids), scored)
        return token_losses(states.flatten(0, 1), weight, line).view_as(targets)


def states_at(states: Float[Tensor, "b n d"], places: Int[Tensor, "b k"] | None) -> Float[Tensor, "b k d"]:
    """The states at some places of each row; all of them without any."""
    return states if places is None else states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))


def token_losses(
    states: Float[Tensor, "n d"], weight: Float[Tensor, "v d"], targets: Int[Tensor, " n"]
) -> Float[Tensor, " n"]:
    """The loss of every token, without gradients."""
    parts = []
    with torch.no_grad():
        for state, target in _chunks(states, targets, len(weight)):
            logits = state @ weight.t()
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            parts.append(logits.logsumexp(dim=-1) - logits.gather(1, target[:, None])[:, 0])
    return torch.cat(parts)


def total_loss(
    states: Float[Tensor, "n d"], weight: Float[Tensor, "v d"], targets: Int[Tensor, " n"]
) -> Float[Tensor, ""]:
    """The sum over tokens: sums of parts of a batch add up, whatever the parts are."""
    total: Tensor = _TotalLoss.apply(states, weight, targets)  # type: ignore[no-untyped-call]
    return total


def _chunks(states: Tensor, targets: Tensor, vocabulary: int) -> list[tuple[Tensor, Tensor]]:
    size = min(max(TOKENS, LOGITS // vocabulary), max(16, MOST // vocabulary))
    return list(zip(states.split(size), targets.split(size), strict=True))


class _TotalLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        narrow = not states.is_meta and torch.is_autocast_enabled(states.device.type)
        kind = torch.get_autocast_dtype(states.device.type) if narrow else weight.dtype
        own, wide = weight.to(kind), torch.promote_types(weight.dtype, torch.float32)
        total = states.new_zeros((), dtype=wide)
        by_state, by_weight = torch.empty_like(states), torch.zeros_like(weight)
        at = 0
        for state, target in _chunks(states, targets, len(weight)):
            logits = (state.to(kind) @ own.t()).to(wide)
            target = target[:, None]
            picked, highest = logits.gather(1, target), logits.amax(dim=-1, keepdim=True)
            powers = logits.sub_(highest).exp_()
            norm = powers.sum(dim=-1, keepdim=True)
            total += (norm.log() + highest - picked).sum()
            # The gradient of the logits times `norm`: the small factors are divided by it, not all logits.
            grad = powers.scatter_add_(1, target, -norm).to(kind)
            by_state[at : at + len(state)] = (grad @ own) / norm
            if kind == by_weight.dtype:
                by_weight.addmm_(grad.t(), (state / norm).to(kind))
            else:
                by_weight += (grad.t() @ (state / norm).to(kind)).to(by_weight.dtype)
            at += len(state)
        ctx.save_for_backward(by_state, by_weight)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        by_state, by_weight = ctx.saved_tensors
        return by_state.mul_(grad.to(by_state.dtype)), by_weight.mul_(grad.to(by_weight.dtype)), None
