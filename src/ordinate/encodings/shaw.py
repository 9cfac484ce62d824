"""A trained vector for every clipped relative position, on keys and on values."""

from typing import Annotated

import torch
from jaxtyping import Int
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Features, Keys, Paper, Queries, Scores, Shape
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext


class Shaw(Encoding):
    """Adds a trained vector for the relative position to each key, and to each value. Distances past the farthest share
    its vector."""

    family = "content"
    formula = (
        r"\frac{q_i^\top (k_j + a^K_{r})}{\sqrt d},\quad z_i = \sum_j \alpha_{ij}(v_j + a^V_{r}),"
        r"\quad r=\mathrm{clip}(j-i,\pm K)"
    )
    paper = Paper(
        "Self-Attention with Relative Position Representations",
        ("Peter Shaw", "Jakob Uszkoreit", "Ashish Vaswani"),
        2018,
        "1803.02155",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        farthest: Annotated[int, Param("distance K past which all share one vector", low=1)] = 16,
        values: Annotated[bool, Param("vectors on values too, not on keys alone")] = True,
        std: Annotated[float, Param("spread of the starting values", low=0.0)] = 0.02,
    ) -> None:
        super().__init__(shape, extrapolation="clips", shift_invariant=True, per_layer=True)
        self.farthest, self.std = farthest, std
        rows = farthest + 1 if shape.causal else 2 * farthest + 1
        self.keys = nn.Parameter(torch.empty(rows, shape.head_dim))
        self.values = nn.Parameter(torch.empty(rows, shape.head_dim)) if values else None

    def reset(self, generator: torch.Generator) -> None:
        for table in self.parameters():
            nn.init.normal_(table, std=self.std, generator=generator)

    def rows(self, context: AttentionContext) -> Int[Tensor, "#b q k"]:
        """The row of the tables for each query and key; a causal model needs none for keys ahead."""
        ahead = 0 if self.shape.causal else self.farthest
        rows: Tensor = (-context.relative_positions()).clamp(-self.farthest, ahead) + self.farthest
        return rows

    def score_mod(
        self, scores: Scores, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None
    ) -> Scores:
        by_row = (q @ self.keys.t().to(q.dtype)) * q.shape[-1] ** -0.5
        term: Tensor = by_row.gather(-1, self.rows(context)[:, None].expand(scores.shape))
        return scores + term

    def weighted_values(self, weights: Scores, v: Keys, context: AttentionContext) -> Queries:
        mixed = weights @ v
        if self.values is None:
            return mixed
        by_row = weights.new_zeros(*weights.shape[:3], len(self.values))
        by_row = by_row.scatter_add(-1, self.rows(context)[:, None].expand(weights.shape), weights)
        return mixed + by_row @ self.values.to(v.dtype)
