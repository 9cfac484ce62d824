"""Positions counted by content."""

from collections.abc import Iterator
from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ordinate.core.encoding import Encoding, Features, Keys, Paper, Queries, Scores, Shape, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext

ROWS = 64  # queries at a time


class Cope(Encoding):
    """Each query assigns every key a gate by content; a key's position is the sum of the gates from the key to the
    query, in general a fraction. The model can thus count words or sentences instead of tokens."""

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
        self, shape: Shape, *, positions: Annotated[int, Param("how far it can count", low=2, high=32_767)] = 64
    ) -> None:
        super().__init__(shape, extrapolation="clips", shift_invariant=True, causal_only=True, per_layer=True)
        self.table = nn.Parameter(torch.empty(shape.head_dim, positions))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.zeros_(self.table)  # as in the paper: training starts without positions

    def score_mod(
        self, scores: Scores, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None
    ) -> Scores:
        by_position = q @ self.table.to(q.dtype)
        if context.visible is None:
            raise InputError("cope counts back from each query: give it a causal context")
        given = (upcast(scores), upcast(by_position), context.visible, context.start)
        counted: Tensor = _Count.apply(*given)  # type: ignore[no-untyped-call]
        return counted.to(scores.dtype)


class _Count(torch.autograd.Function):
    """Adds the term above to the scores, some rows of queries at a time, each with the keys before it alone: `start`
    counts those of the first query. Its own gradient keeps four half tables of scores where autograd keeps a dozen
    whole ones."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, by_position: Tensor, visible: Tensor, start: int) -> Tensor:
        rises = torch.nn.functional.pad(by_position.diff(dim=-1), (0, 1))
        changed, saved, ctx.start = scores.clone(), [], start
        for rows, part in _parts(scores, start):
            gate = torch.sigmoid(scores[part]).mul_(visible[part])
            share = gate.flip(-1).cumsum(dim=-1).flip(-1)  # the sum from j on; total minus the rest would cancel
            share.clamp_(0, by_position.shape[-1] - 1)
            index = share.long()
            share.sub_(index)
            rise = rises[rows].gather(-1, index)
            changed[part].add_(by_position[rows].gather(-1, index)).addcmul_(share, rise)
            # rise is 0 where the count is clipped, so nothing flows to the gates from there
            saved += [gate, index.to(torch.int16), share, rise]
        ctx.save_for_backward(by_position, *saved)
        return changed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        by_position, *saved = ctx.saved_tensors
        to_scores, to_low, to_rise = grad.clone(), torch.zeros_like(by_position), torch.zeros_like(by_position)
        for number, (rows, part) in enumerate(_parts(grad, ctx.start)):
            (gate, index, share, rise), given = saved[4 * number : 4 * number + 4], grad[part]
            to_gate = (given * rise).cumsum(dim=-1)
            to_scores[part].addcmul_(to_gate, gate * (1 - gate))
            index = index.long()
            to_low[rows].scatter_add_(-1, index, given)
            to_rise[rows].scatter_add_(-1, index, given * share)
        to_rise = to_rise[..., :-1]
        to_low[..., :-1] -= to_rise
        to_low[..., 1:] += to_rise
        return to_scores, to_low, None, None


def _parts(scores: Tensor, start: int) -> Iterator[tuple[Any, Any]]:
    """Rows of queries, and with them the keys up to the last query."""
    for first in range(0, scores.shape[2], ROWS):
        rows = (slice(None), slice(None), slice(first, first + ROWS))
        yield rows, (*rows, slice(start + first + ROWS))
