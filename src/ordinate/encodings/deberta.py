"""Content to distance and distance to content, as in DeBERTa."""

from typing import Annotated

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Extrapolation, Features, Keys, Paper, Queries, Scores, Shape
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext
from ordinate.encodings._shared.buckets import deberta_bucket
from ordinate.encodings._shared.skew import skew_positions, skewed_product


class Deberta(Encoding):
    """Projects a trained vector per relative position to a key, which is scored against queries, and to a query, which
    is scored against keys. Content and position interact in the score only. Distances past the farthest share a vector.
    Follows the released code; in the last term the paper prints delta(j, i)."""

    family = "content"
    formula = (
        r"\frac{q_i^\top k_j + q_i^\top K^r_{\delta(i,j)} + k_j^\top Q^r_{\delta(i,j)}}{\sqrt{3d}},"
        r"\quad \delta(i,j)=\mathrm{clip}(i-j+K,\,0,\,2K-1)"
    )
    paper = Paper(
        "DeBERTa: Decoding-enhanced BERT with Disentangled Attention",
        ("Pengcheng He", "Xiaodong Liu", "Jianfeng Gao", "Weizhu Chen"),
        2020,
        "2006.03654",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        farthest: Annotated[
            int | None, Param("distance K from which on all share one vector; none: the trained length", low=2)
        ] = None,
        buckets: Annotated[
            int | None,
            Param("ranges of distances on each side, growing from half of them on; none: one per distance", low=4),
        ] = None,
        std: Annotated[float, Param("spread of the starting values of the vectors", low=0.0)] = 0.02,
    ) -> None:
        self.farthest = farthest or max(shape.length, 2)
        if buckets is not None and self.farthest < buckets // 2 + 2:
            raise InputError(
                f"deberta keeps {buckets // 2} distances exact with {buckets} buckets: farthest must be at least"
                f" {buckets // 2 + 2}, got {self.farthest}"
            )
        extrapolation: Extrapolation = "clips" if self.farthest <= max(shape.length, 2) else "untrained"
        super().__init__(shape, extrapolation=extrapolation, shift_invariant=True, per_layer=True)
        self.buckets, self.std, self.span = buckets, std, buckets or self.farthest
        width = shape.heads * shape.head_dim
        self.vectors = nn.Parameter(torch.empty(self.span * (1 if shape.causal else 2), shape.dim))
        # no bias for these keys: one number for all keys of a query would cancel in the softmax
        self.to_keys = nn.Parameter(torch.empty(width, shape.dim))
        self.to_queries = nn.Parameter(torch.empty(width, shape.dim))
        self.queries_bias = nn.Parameter(torch.empty(width))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.vectors, std=self.std, generator=generator)
        for weight in (self.to_keys, self.to_queries):
            nn.init.normal_(weight, std=self.shape.dim**-0.5, generator=generator)  # as a model's own matrices
        nn.init.zeros_(self.queries_bias)

    def rows(self, relative: Num[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """The row of `vectors` for each relative position; a causal model needs none for keys ahead."""
        distance = relative if self.buckets is None else deberta_bucket(relative, self.buckets, self.farthest)
        return (distance if self.shape.causal else distance + self.span).clamp(0, len(self.vectors) - 1)

    def qk_scores(self, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None) -> Scores:
        scale = (3 * q.shape[-1]) ** -0.5
        line = self.rows(skew_positions(context)) if context.consecutive else None
        vectors = (self.vectors if line is None else nn.functional.embedding(line, self.vectors)).to(q.dtype)
        keys = self._heads(nn.functional.linear(vectors, self.to_keys.to(q.dtype)))
        queries = nn.functional.linear(vectors, self.to_queries.to(q.dtype), self.queries_bias.to(q.dtype))
        q, queries = q * scale, self._heads(queries * scale)
        if line is not None:
            to_distance = skewed_product(q, keys, context.q.length - 1, context.k.length)
            to_content = _by_key(k, queries.flip(1), context.q.length)
        else:
            rows = self.rows(context.relative_positions())[:, None]
            to_distance = (q @ keys.mT).gather(-1, rows.expand(*q.shape[:3], -1))
            to_content = (k @ queries.mT).gather(-1, rows.mT.expand(*k.shape[:3], -1))
        return q @ k.mT + to_distance + to_content.mT

    def _heads(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "h rows e"]:
        return x.view(len(x), self.shape.heads, -1).transpose(0, 1)


def _by_key(k: Float[Tensor, "b h k e"], line: Float[Tensor, "h g e"], queries: int) -> Float[Tensor, "b h k q"]:
    """Products of keys with the vectors of their relative positions, ascending; few queries need few of them."""
    keys, first = k.shape[2], line.shape[1] - queries
    if queries == keys:
        return skewed_product(k, line, first, queries)
    parts, line = [], nn.functional.pad(line, (0, 0, queries, 0))
    for start in range(0, keys, size := max(queries, 64)):
        part = k[:, :, start : start + size]
        low = first + queries - start - part.shape[2] + 1
        parts.append(skewed_product(part, line[:, low : low + queries + part.shape[2] - 1], part.shape[2] - 1, queries))
    return torch.cat(parts, dim=2)
