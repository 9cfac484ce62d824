"""A trained function of distance over query position."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.parameters import Param
from ordinate.core.place import Pair


class Fire(Encoding):
    """Feeds the distance to a small network, on a learned logarithmic scale and divided by the query's own position:
    its input never leaves [0, 1], however long the sequence."""

    family = "bias"
    formula = r"f_\theta\!\left(\frac{\psi(i-j)}{\psi(\max(L,i))}\right),\quad \psi(x)=\ln(|c|\,x+1)"
    paper = Paper(
        "Functional Interpolation for Relative Positions Improves Long Context Transformers",
        ("Shanda Li", "Chong You", "Guru Guruganesh", "Joshua Ainslie", "Santiago Ontanon", "Manzil Zaheer",
         "Sumit Sanghai", "Yiming Yang", "Sanjiv Kumar", "Srinadh Bhojanapalli"),
        2023,
        "2310.04418",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        hidden: Annotated[int, Param("width of the network", low=1)] = 32,
        threshold: Annotated[
            float | None,
            Param("start of the learned L, below which positions are not normalised; none: trained length", low=1.0),
        ] = None,
        c: Annotated[float, Param("start of the learned scale inside the logarithm", low=1e-6)] = 0.1,
        share_layers: Annotated[bool, Param("one network for all layers (the paper's FIRE-S)")] = False,
    ) -> None:
        super().__init__(shape, past="extends", causal_only=True, per_layer=not share_layers)
        self.start_c, self.threshold = c, float(threshold or shape.length)
        self.c = nn.Parameter(torch.empty(()))
        self.multiplier = nn.Parameter(torch.empty(()))
        self.inner = nn.Parameter(torch.empty(hidden, 1))
        self.inner_bias = nn.Parameter(torch.empty(hidden))
        # no second bias: one number for all keys of a head would cancel in the softmax
        self.outer = nn.Parameter(torch.empty(shape.heads, hidden))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.constant_(self.c, self.start_c)
        nn.init.constant_(self.multiplier, 1.0)
        for weight in (self.inner, self.inner_bias, self.outer):
            bound = (self.outer.shape[1] if weight is self.outer else 1) ** -0.5  # torch's own start for linear layers
            nn.init.uniform_(weight, -bound, bound, generator=generator)

    def bias(self, pair: Pair) -> Float[Tensor, "#b h q k"]:
        gap = pair.gap().clamp(min=0).float()  # keys ahead are masked; the logarithm must not see them
        longest = torch.maximum((self.multiplier.float() * self.threshold).abs(), pair.q.positions.float())
        scale = self.c.float().abs()
        ratio = torch.log1p(scale * gap) / (torch.log1p(scale * longest) + 1e-6)
        hidden = torch.relu(nn.functional.linear(ratio.unsqueeze(-1), self.inner.float(), self.inner_bias.float()))
        return nn.functional.linear(hidden, self.outer.float()).movedim(-1, 1)
