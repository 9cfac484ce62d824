"""Adding a vector to each token embedding: the arithmetic and the parameters that all such encodings share."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.encoding import Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions

Size = Annotated[
    float | None,
    Param("root mean square at the start over that of token embeddings; none: values of the definition", low=0.0),
]
ScaleTokens = Annotated[bool, Param("multiply token embeddings by sqrt(D) first, as Vaswani et al. do")]
Dropout = Annotated[
    float, Param("share of the sum of embedding and position that is dropped in training", low=0.0, high=0.99)
]


@dataclass(frozen=True)
class Adding:
    """How the vectors of one encoding join the token embeddings."""

    shape: Shape
    size: float | None
    dropout: float
    scale_tokens: bool = False

    @property
    def matched(self) -> float | None:
        """The requested root mean square; None keeps that of the definition."""
        return self.shape.matched(self.size, self.scale_tokens)

    @property
    def std(self) -> float:
        """The standard deviation of a trained table at the start; by definition 0.02, as in GPT-2, BERT and ViT."""
        return 0.02 if self.matched is None else self.matched

    def factor(self, mean_square: float) -> float:
        """The factor that scales values of this mean square to `matched`."""
        return 1.0 if self.matched is None or mean_square == 0 else self.matched * math.sqrt(1 / mean_square)

    def measured(self, values: Callable[[Positions], Tensor]) -> float:
        """The same factor, for values whose size must be measured: over the trained positions."""
        return 1.0 if self.matched is None else self.factor(values(sample(self.shape)).square().mean().item())

    def __call__(
        self, x: Float[Tensor, "b n d"], values: Float[Tensor, "#b n d"], training: bool
    ) -> Float[Tensor, "b n d"]:
        """Token embeddings and what is added to them; computed in float32 at least, cast last."""
        scaled = upcast(x) * math.sqrt(self.shape.dim) if self.scale_tokens else x
        total = (scaled + values).to(x.dtype)
        return F.dropout(total, self.dropout) if training and self.dropout > 0 else total


def sample(shape: Shape) -> Positions:
    """Positions over the trained range: all of a short text, evenly spaced ones of a longer text or of a grid."""
    most = {1: 1021, 2: 31, 3: 11}[shape.axes]  # primes, so that no digit is favored
    count = min(shape.length, most)
    line = torch.arange(count, device="cpu") * shape.length // count
    return Positions(torch.cartesian_prod(*[line] * shape.axes).view(1, -1, shape.axes))
