"""Queries and keys compared through the product of all factors I - beta w w^T that lie between them.

A chunk of factors is I minus one low-rank matrix, found by a triangular solve (the UT transform of the PaTH paper).
Within a chunk that gives the scores at once; farther back, queries walk from chunk to chunk.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

CHUNK = 64  # factors solved at once: longer chunks cost more within, shorter ones make more steps of the walk


def through_factors(
    q: Float[Tensor, "b h q e"],
    k: Float[Tensor, "b h k e"],
    w: Float[Tensor, "b h k e"],
    beta: Float[Tensor, "b h k"],
    start: int,
) -> Float[Tensor, "b h q k"]:
    """q_i^T F_i F_(i-1) ... F_(j+1) k_j for all j <= i, where F_s = I - beta_s w_s w_s^T; query t is token start + t.

    Entries for later keys (j > i) are undefined. Memory grows with queries times keys, and never with their cube.
    """
    (b, h, queries, _), keys, lead = q.shape, k.shape[2], start % CHUNK
    q = pad(q, (0, 0, lead, -(lead + queries) % CHUNK)).flatten(0, 1).unflatten(1, (-1, CHUNK))
    back = (0, 0, 0, -keys % CHUNK)
    k, w, scaled = (pad(x, back).flatten(0, 1).unflatten(1, (-1, CHUNK)) for x in (k, w, w * beta[..., None]))

    sides = torch.cat((scaled, (scaled @ k.mT).tril(-1)), dim=-1)
    solved = torch.linalg.solve_triangular((scaled @ w.mT).tril(-1), sides, upper=False, unitriangular=True)
    factors, crossed = solved[..., : w.shape[-1]], solved[..., w.shape[-1] :]
    chunk = w.mT @ factors  # all factors of a chunk multiply to I - chunk
    at_end = k - crossed.mT @ w  # keys behind all factors of their chunk that follow them

    first = start // CHUNK
    own = slice(first, first + q.shape[1])
    seen = (q @ w[:, own].mT).tril()
    within = q @ k[:, own].mT - seen @ crossed[:, own]
    at_start = q - seen @ factors[:, own]  # queries before all factors of their chunk
    walked: Tensor = _Walk.apply(at_start, at_end, chunk, within, first)  # type: ignore[no-untyped-call]
    return walked.view(b, h, *walked.shape[1:])[:, :, lead : lead + queries, :keys]


class _Walk(torch.autograd.Function):
    """Scores from chunk to chunk: at each, all later queries meet its keys, then pass its factors. Written out because
    autograd would copy the whole table at every step."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, chunk: Tensor, within: Tensor, first: int) -> Tensor:
        (rows, own, size, _), all_keys = q.shape, k.shape[1]
        scores = q.new_zeros(rows, own * size, all_keys * size)
        for number in range(own):
            here = slice(number * size, (number + 1) * size)
            scores[:, here, (first + number) * size : (first + number + 1) * size] = within[:, number]
        flat, walkers, met = q.flatten(1, 2), q[:, own:, 0], []
        for number in range(first + own - 2, -1, -1):
            begin = max(number + 1 - first, 0) * size
            joined = flat[:, begin : flat.shape[1] - walkers.shape[1]]
            walkers = torch.cat((joined, walkers), dim=1)
            met.append(walkers)
            scores[:, begin:, number * size : (number + 1) * size] = walkers @ k[:, number].mT
            walkers = torch.baddbmm(walkers, walkers, chunk[:, number], alpha=-1)
        ctx.save_for_backward(k, chunk, *met)
        ctx.own, ctx.first = own, first
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        k, chunk, *met = ctx.saved_tensors
        size, own, first = k.shape[2], ctx.own, ctx.first
        to_k, to_chunk = torch.zeros_like(k), torch.zeros_like(chunk)
        to_q = grad.new_zeros(len(grad), own * size, k.shape[3])  # at each step: to the queries as they leave it
        for number in range(first + own - 1):
            begin, walkers = max(number + 1 - first, 0) * size, met[-1 - number]
            here, later = grad[:, begin:, number * size : (number + 1) * size], to_q[:, begin:]
            to_k[:, number] = here.mT @ walkers
            to_chunk[:, number] = -(walkers.mT @ later)
            later.sub_(later @ chunk[:, number].mT).baddbmm_(here, k[:, number])
        within = [grad[:, n * size : (n + 1) * size, (first + n) * size : (first + n + 1) * size] for n in range(own)]
        return to_q.unflatten(1, (own, size)), to_k, to_chunk, torch.stack(within, dim=1), None
