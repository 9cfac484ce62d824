"""Position scores computed apart from content scores."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Features, Heads, Paper, Prepared, Shape, Side, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings._shared.buckets import Buckets, Farthest, check_buckets, t5_bucket


class Tupe(Encoding):
    """Scores content against content and positions against positions, each with its own query and key projections, and
    adds a trained bias per bucket of relative positions. untied=true exempts a [CLS] token at position 0 from these. As
    in the paper, all layers share the position vectors."""

    family = "bias"
    formula = (
        r"\frac{(x_i W_Q)(x_j W_K)^\top}{\sqrt{2d}} + \frac{(p_i U_Q)(p_j U_K)^\top}{\sqrt{2d}}"
        r" + B_{h,\,\mathrm{bucket}(i-j)}"
    )
    paper = Paper(
        "Rethinking Positional Encoding in Language Pre-training",
        ("Guolin Ke", "Di He", "Tie-Yan Liu"),
        2020,
        "2006.15595",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        rows: Annotated[int | None, Param("positions that have a vector; none: the trained length", low=2)] = None,
        buckets: Buckets = 32,
        farthest: Farthest = 128,
        untied: Annotated[bool, Param("the token at position 0 is [CLS], which sees all keys alike")] = False,
        std: Annotated[float, Param("spread of the starting position vectors and biases", low=0.0, high=1e3)] = 1.0,
    ) -> None:
        check_buckets("tupe", shape, buckets, farthest)
        self.rows = rows or max(shape.length, 2)
        super().__init__(
            shape, extrapolation="untrained" if self.rows > shape.length else "refuses", max_positions=self.rows
        )
        self.buckets, self.farthest, self.std = buckets, farthest, std
        self.vectors = nn.Parameter(torch.empty(self.rows, shape.dim))
        inner = shape.heads * shape.head_dim
        self.queries, self.keys = (nn.Parameter(torch.empty(inner, shape.dim)) for _ in range(2))
        self.table = nn.Parameter(torch.empty(buckets, shape.heads))
        # What [CLS] adds to its own row cancels in the softmax; what others give to it is one number per head.
        self.to_first = nn.Parameter(torch.empty(shape.heads)) if untied else None

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.vectors, std=self.std, generator=generator)
        for weight in (self.queries, self.keys):
            nn.init.normal_(weight, std=self.shape.dim**-0.5, generator=generator)
        nn.init.normal_(self.table, std=0.02 * self.std, generator=generator)
        if self.to_first is not None:
            nn.init.zeros_(self.to_first)

    def rotate(self, x: Heads, state: Prepared, side: Side, features: Features | None = None) -> Heads:
        return x * 2**-0.5 if side == "q" else x  # two scores are added: each is scaled by sqrt(2d)

    def projected(self, positions: Positions, weight: Float[Tensor, "inner d"]) -> Float[Tensor, "#b n h e"]:
        """The queries or keys of positions."""
        vectors = upcast(nn.functional.embedding(positions.values[..., 0], self.vectors))
        projected: Tensor = nn.functional.linear(vectors, upcast(weight)).unflatten(-1, (self.shape.heads, -1))
        return projected

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b h q k"]:
        self.check_range(context.k)
        q, k = self.projected(context.q, self.queries), self.projected(context.k, self.keys)
        matched = torch.einsum("bqhe,bkhe->bhqk", q * (2 * self.shape.head_dim) ** -0.5, k)
        relative = context.relative_positions()
        bucket = t5_bucket(relative, causal=self.shape.causal, buckets=self.buckets, farthest=self.farthest)
        bias = matched + upcast(nn.functional.embedding(bucket, self.table)).movedim(-1, 1)
        if self.to_first is None:
            return bias
        from_first, to_first = (at.values[..., 0] == 0 for at in (context.q, context.k))
        bias = torch.where(to_first[:, None, None], upcast(self.to_first)[:, None, None], bias)
        return bias.masked_fill(from_first[:, None, :, None], 0.0)
