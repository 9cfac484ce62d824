"""Attention written out plainly, in float64, one query and one key at a time where it matters: what every path owes."""

import math

import torch
from torch import Tensor

from ordinate import AttentionContext, Encoding
from ordinate.core.encoding import Features


def visible(context: AttentionContext, row: int, i: int, j: int) -> bool:
    """Whether query i of a sequence sees key j, from the words of the protocol alone."""
    at = context.start + i
    if at == j:
        return True

    def of(rows: Tensor | None, index: int) -> int | None:
        return None if rows is None else int(rows[row % len(rows), index])

    if context.causal and j > at:
        return False
    if context.mask_documents and of(context.q.document_ids, i) != of(context.k.document_ids, j):
        return False
    return of(context.k.padding_mask, j) != 0


def plain(
    encoding: Encoding, q: Tensor, k: Tensor, v: Tensor, context: AttentionContext, features: Features | None = None
) -> Tensor:
    """Rotated queries and keys to mixed values: product, content term, bias, mask, softmax, values."""
    own = encoding.relabel_context(context)
    q, k, v = q.double(), k.double(), v.double()
    share = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)
    read = None if features is None else features.double()
    scores = encoding.qk_scores(q, k, own, read)
    if type(encoding).qk_scores is Encoding.qk_scores:
        scores = torch.einsum("bhqe,bhke->bhqk", q, k) / math.sqrt(q.shape[-1])
    scores = encoding.score_mod(scores, q, k, own, read)
    bias = encoding.bias(own)
    if bias is not None:
        scores = scores + bias.double()
    b, _, queries, keys = scores.shape
    seen = [[[visible(context, row, i, j) for j in range(keys)] for i in range(queries)] for row in range(b)]
    scores = scores.masked_fill(~torch.tensor(seen)[:, None], -math.inf)
    return encoding.weighted_values(torch.softmax(scores, dim=-1), v, own)
