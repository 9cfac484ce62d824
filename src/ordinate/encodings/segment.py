"""A trained vector for every segment, as in BERT."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, Size


class Segment(Encoding):
    """Adds one trained vector per segment (first sentence, second sentence) to the token embeddings. It does not encode
    order: combine it with another encoding."""

    family = "added"
    formula = r"x_p \mapsto x_p + S_{\mathrm{segment}(p)}"
    paper = Paper(
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        ("Jacob Devlin", "Ming-Wei Chang", "Kenton Lee", "Kristina Toutanova"),
        2018,
        "1810.04805",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        segments: Annotated[int, Param("how many segments there are", low=1)] = 2,
        size: Size = 1.0,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(shape, shift_invariant=True, axes=(1, 2, 3), extra_inputs=("segments",), real_positions=True)
        # no scale_tokens: beside another encoding it would scale that one's positions too
        self.adding = Adding(shape, size, dropout)
        self.table = nn.Parameter(torch.empty(segments, shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, std=self.adding.std, generator=generator)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        if positions.segments is None:
            raise InputError("segment needs to know the segment of every token: pass segments= to the model")
        if not torch.compiler.is_compiling() and not positions.segments.is_meta:
            low, high = (int(v) for v in positions.segments.aminmax())
            if low < 0 or high >= len(self.table):
                raise InputError(f"segment knows segments 0 to {len(self.table) - 1}, found {low} to {high}")
        return self.adding(x, nn.functional.embedding(positions.segments, self.table), self.training)
