"""Positions counted by content."""

from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.place import Pair


class Cope(Encoding):
    """Each query counts, from itself backwards, the keys it finds relevant; that count, a fraction in general, is the
    key's position. It can count words or sentences where others count tokens."""

    family = "content"
    formula = (
        r"p_{ij}=\min\Bigl(\sum_{k=j}^{i}\sigma(s_{ik}),\,P-1\Bigr),\quad s_{ij} \mapsto s_{ij} + q_i^\top e_{p_{ij}}"
    )
    paper = Paper(
        "Contextual Position Encoding: Learning to Count What's Important",
        ("Olga Golovneva", "Tianlu Wang", "Jason Weston", "Sainbayar Sukhbaatar"),
        2024,
        "2405.18719",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        positions: Annotated[int, Param("how far it can count", low=2, high=32_767)] = 64,
    ) -> None:
        super().__init__(shape, past="clips", shift_invariant=True, causal_only=True, per_layer=True)
        self.table = nn.Parameter(torch.empty(shape.head_dim, positions))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.zeros_(self.table)  # as in the paper: training starts without positions

    def score(
        self, scores: Float[Tensor, "b h q k"], q: Float[Tensor, "b h q e"], k: Float[Tensor, "b h k e"], pair: Pair
    ) -> Float[Tensor, "b h q k"]:
        by_position = q @ self.table.to(q.dtype)
        if pair.visible is None:
            raise InputError("cope counts back from each query: give it a causal pair")
        counted: Tensor = _Count.apply(scores.float(), by_position.float(), pair.visible)  # type: ignore[no-untyped-call]
        return counted.to(scores.dtype)


class _Count(torch.autograd.Function):
    """Adds the term above to the scores. Its own gradient keeps three tables of scores where autograd keeps a dozen."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, by_position: Tensor, visible: Tensor) -> Tensor:
        gate = torch.sigmoid(scores).mul_(visible)
        count = gate.flip(-1).cumsum(dim=-1).flip(-1)  # the sum from j on; total minus the rest would cancel
        count.clamp_(0, by_position.shape[-1] - 1)
        below = count.floor()
        share = count.sub_(below)
        index = below.long()
        low = by_position.gather(-1, index)
        rise = by_position.gather(-1, index.add_(1).clamp_(max=by_position.shape[-1] - 1)).sub_(low)
        # rise is 0 where the count is clipped, so nothing flows to the gates from there
        ctx.save_for_backward(gate, below.to(torch.int16), share, rise)
        ctx.positions = by_position.shape[-1]
        return torch.addcmul(scores + low, share, rise)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        gate, below, share, rise = ctx.saved_tensors
        to_gate = (grad * rise).cumsum(dim=-1)
        to_scores = torch.addcmul(grad, to_gate, gate * (1 - gate))
        upper = grad * share
        by_position = grad.new_zeros(*grad.shape[:-1], ctx.positions)
        index = below.long()
        by_position.scatter_add_(-1, index, grad - upper)
        by_position.scatter_add_(-1, index.add_(1).clamp_(max=ctx.positions - 1), upper)
        return to_scores, by_position, None
