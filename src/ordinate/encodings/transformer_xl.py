"""Queries scored against sines and cosines of the relative position, as in Transformer-XL."""

from typing import Annotated

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Features, Keys, Paper, Queries, Scores, Shape
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext
from ordinate.encodings._shared.rotation import angles, frequencies
from ordinate.encodings._shared.skew import skew_positions, skewed_product


class TransformerXL(Encoding):
    """Scores each query against the content of each key, and against a trained projection of sines and cosines of their
    relative position. Two trained vectors per head add content and position terms that do not depend on the query."""

    family = "content"
    formula = r"\frac{(q_i+u)^\top k_j + (q_i+v)^\top W_R R_{i-j}}{\sqrt d}"
    paper = Paper(
        "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context",
        ("Zihang Dai", "Zhilin Yang", "Yiming Yang", "Jaime Carbonell", "Quoc V. Le", "Ruslan Salakhutdinov"),
        2019,
        "1901.02860",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        base: Annotated[float, Param("longest wavelength over 2 pi", low=1.0)] = 10_000.0,
        std: Annotated[float, Param("spread of the starting values of u and v", low=0.0)] = 0.02,
    ) -> None:
        super().__init__(shape, shift_invariant=True, per_layer=True, real_positions=True)
        self.base, self.std, self.width = base, std, shape.dim + shape.dim % 2
        self.projection = nn.Parameter(torch.empty(shape.heads, shape.head_dim, self.width))  # W_R
        self.u = nn.Parameter(torch.empty(shape.heads, shape.head_dim))
        self.v = nn.Parameter(torch.empty(shape.heads, shape.head_dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.projection, std=self.width**-0.5, generator=generator)  # as a model's own matrices
        for vector in (self.u, self.v):
            nn.init.normal_(vector, std=self.std, generator=generator)

    def waves(self, positions: Num[Tensor, "#b n"]) -> tuple[Float[Tensor, "#b n w"], Float[Tensor, "#b n w"]]:
        """Sine and cosine of every frequency at every position."""
        angle = angles(frequencies(self.width, self.base, positions.device), positions)
        return angle.sin(), angle.cos()

    def qk_scores(self, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None) -> Scores:
        q = q * q.shape[-1] ** -0.5
        u, v = (vector.to(q.dtype)[:, None] * q.shape[-1] ** -0.5 for vector in (self.u, self.v))
        term = self.by_distance(q + v, context)
        return torch.baddbmm(term.flatten(0, 1), (q + u).flatten(0, 1), k.flatten(0, 1).mT).view(term.shape)

    def by_distance(self, q: Float[Tensor, "b h q e"], context: AttentionContext) -> Float[Tensor, "b h q k"]:
        """The product of queries with W_R R_{i-j}."""
        projection = self.projection.to(q.dtype)
        if context.consecutive:
            waves = torch.cat(self.waves(skew_positions(context)[None]), dim=-1).to(q.dtype)
            return skewed_product(q, waves @ projection.mT, context.q.length - 1, context.k.length)
        # sin(i-j) = sin i cos j - cos i sin j: queries take the part of i, so that any positions will do
        (sin_i, cos_i), (sin_j, cos_j) = (self.waves(positions.values[..., 0]) for positions in (context.q, context.k))
        sine, cosine = (q @ projection).chunk(2, dim=-1)
        sin_i, cos_i = sin_i.to(q.dtype)[:, None], cos_i.to(q.dtype)[:, None]
        rotated = torch.cat((sine * sin_i + cosine * cos_i, cosine * sin_i - sine * cos_i), dim=-1)
        return rotated @ torch.cat((cos_j, sin_j), dim=-1).to(q.dtype)[:, None].mT
