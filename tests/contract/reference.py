"""Attention written out plainly, in float64, one query and one key at a time where it matters: what every path owes."""

import math

import torch
from torch import Tensor

from ordinate import Encoding, Pair
from ordinate.core.encoding import Features


def visible(pair: Pair, row: int, i: int, j: int) -> bool:
    """Whether query i of a sequence sees key j, from the words of the protocol alone."""
    at = pair.start + i
    if at == j:
        return True

    def of(rows: Tensor | None, index: int) -> int | None:
        return None if rows is None else int(rows[row % len(rows), index])

    if pair.causal and j > at:
        return False
    if pair.separate and of(pair.q.documents, i) != of(pair.k.documents, j):
        return False
    return of(pair.k.keep, j) != 0


def plain(encoding: Encoding, q: Tensor, k: Tensor, v: Tensor, pair: Pair, features: Features | None = None) -> Tensor:
    """Rotated queries and keys to mixed values: product, content term, bias, mask, softmax, values."""
    own = encoding.placed(pair)
    q, k, v = q.double(), k.double(), v.double()
    share = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)
    read = None if features is None else features.double()
    scores = encoding.match(q, k, own, read)
    if type(encoding).match is Encoding.match:
        scores = torch.einsum("bhqe,bhke->bhqk", q, k) / math.sqrt(q.shape[-1])
    scores = encoding.score(scores, q, k, own, read)
    bias = encoding.bias(own)
    if bias is not None:
        scores = scores + bias.double()
    b, _, queries, keys = scores.shape
    seen = [[[visible(pair, row, i, j) for j in range(keys)] for i in range(queries)] for row in range(b)]
    scores = scores.masked_fill(~torch.tensor(seen)[:, None], -math.inf)
    return encoding.mix(torch.softmax(scores, dim=-1), v, own)
