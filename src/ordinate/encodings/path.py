"""Householder-like transformations by content, accumulated from key to query."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate.core.encoding import Embeddings, Encoding, Features, Keys, Paper, Queries, Scores, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext, Positions
from ordinate.encodings._shared.householder import through_factors
from ordinate.encodings._shared.neighbors import convolved, with_earlier


class Path(Encoding):
    """Each token determines, for each head, a direction and how much of it to erase or reverse. A key is transformed by
    all tokens between it and the query. Where RoPE rotates by a fixed angle per step, this transformation depends on
    content."""

    family = "content"
    formula = r"\frac{1}{\sqrt d}\,q_i^\top \Bigl(\prod_{s=i}^{j+1} (I - \beta_s w_s w_s^\top)\Bigr) k_j"
    paper = Paper(
        "PaTH Attention: Position Encoding via Accumulating Householder Transformations",
        ("Songlin Yang", "Yikang Shen", "Kaiyue Wen", "Shawn Tan", "Mayank Mishra", "Liliang Ren", "Rameswar Panda",
         "Yoon Kim"),
        2025, "2505.16381",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        rank: Annotated[int, Param("width through which directions are read from a token", low=1)] = 32,
        conv: Annotated[int, Param("tokens that a direction is read from: its own and those before", low=1)] = 3,
    ) -> None:
        self.width = shape.heads * shape.head_dim
        self.rank, self.conv = rank, conv
        self.sizes = (rank if conv > 1 else 0, self.width, shape.heads)
        super().__init__(
            shape, shift_invariant=True, causal_only=True, per_layer=True, real_positions=True,
            feature_width=sum(self.sizes),
        )  # fmt: skip
        self.down = nn.Parameter(torch.empty(rank, shape.dim))
        self.up = nn.Parameter(torch.empty(self.width, rank))
        self.taps = nn.Parameter(torch.empty(conv, self.width)) if conv > 1 else None
        self.strength = nn.Parameter(torch.empty(shape.heads, shape.dim))
        self.strength_bias = nn.Parameter(torch.empty(shape.heads))

    def reset(self, generator: torch.Generator) -> None:
        for weight in (self.down, self.up, self.strength):
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5, generator=generator)
        if self.taps is not None:
            bound = self.conv**-0.5  # torch's own start for such convolutions
            nn.init.uniform_(self.taps, -bound, bound, generator=generator)
        nn.init.zeros_(self.strength_bias)  # beta starts at 1, which erases the direction

    def features(self, x: Embeddings, positions: Positions, before: Features | None) -> Features:
        """Directions and strengths; before them what the next tokens' convolution needs."""
        x = upcast(x)
        low = F.linear(x, upcast(self.down))
        beta = 2 * torch.sigmoid(F.linear(x, upcast(self.strength), upcast(self.strength_bias)))
        if positions.padding_mask is not None:  # padding changes nothing on the way
            low, beta = (part.where(positions.padding_mask[..., None], 0.0) for part in (low, beta))
        if self.taps is None:
            return torch.cat((self._directions(F.linear(low, upcast(self.up))), beta), dim=-1)
        earlier = None if before is None else before[..., : self.rank]
        line = F.linear(with_earlier(low, earlier, self.conv - 1), upcast(self.up))
        total = convolved(line, upcast(self.taps), positions, cached=before is not None)
        return torch.cat((low, self._directions(F.silu(total)), beta), dim=-1)

    def _directions(self, x: Float[Tensor, "b n width"]) -> Float[Tensor, "b n width"]:
        """One unit vector per head."""
        return F.normalize(x.unflatten(-1, (self.shape.heads, -1)), dim=-1, eps=1e-6).flatten(-2)

    def qk_scores(self, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None) -> Scores:
        assert features is not None
        _, w, beta = features.to(q.dtype).split(self.sizes, dim=-1)
        w = w.unflatten(-1, (self.shape.heads, -1)).transpose(1, 2)
        return through_factors(q * q.shape[-1] ** -0.5, k, w, beta.mT, context.start)
