"""Forget gates that decay the scores of earlier keys by content."""

from typing import Annotated

import torch
from torch import nn

from ordinate.core.encoding import Embeddings, Encoding, Features, Keys, Paper, Queries, Scores, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext, Positions


class Fox(Encoding):
    """Each token computes a forget gate per head. The log gates of all tokens after a key, up to the query, are added
    to the key's score: distance is measured by content, not in tokens. The gates start almost open, as in
    x-transformers; the paper's code starts them at b = 0."""

    family = "content"
    reads_heads = False
    formula = r"\sum_{s=j+1}^{i} \ln\sigma(w_h^\top x_s + b_h)"
    paper = Paper(
        "Forgetting Transformer: Softmax Attention with a Forget Gate",
        ("Zhixuan Lin", "Evgenii Nikishin", "Xu Owen He", "Aaron Courville"),
        2025,
        "2503.02130",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        start: Annotated[float, Param("b at the start: 5 forgets 0.7 % with every token, 0 forgets half")] = 5.0,
    ) -> None:
        super().__init__(
            shape, shift_invariant=True, causal_only=True, per_layer=True, real_positions=True,
            feature_width=shape.heads,
        )  # fmt: skip
        self.start = start
        self.weight = nn.Parameter(torch.empty(shape.heads, shape.dim))
        self.offset = nn.Parameter(torch.empty(shape.heads))

    def reset(self, generator: torch.Generator) -> None:
        bound = self.shape.dim**-0.5  # torch's own start for linear layers
        nn.init.uniform_(self.weight, -bound, bound, generator=generator)
        nn.init.constant_(self.offset, self.start)

    def features(self, x: Embeddings, positions: Positions, before: Features | None) -> Features:
        """What has been kept since the first token, as a logarithm: a running sum, so that a cache can continue it."""
        kept = nn.functional.logsigmoid(nn.functional.linear(upcast(x), upcast(self.weight), upcast(self.offset)))
        if positions.padding_mask is not None:
            kept = kept.where(positions.padding_mask[..., None], 0.0)  # padding has an open gate
        total = kept.cumsum(dim=1)
        return total if before is None else total + before[:, -1:]

    def score_mod(
        self, scores: Scores, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None
    ) -> Scores:
        assert features is not None
        of_queries, of_keys = (x.mT.to(scores.dtype) for x in (context.query_features(features), features))
        return (scores + of_queries[..., None]).sub_(of_keys[:, :, None])
