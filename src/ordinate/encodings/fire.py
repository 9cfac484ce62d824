"""A trained function of distance over query position."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext, Positions

_AT_ONCE = 2**19  # pairs of query and key whose hidden layers are held at a time


class Fire(Encoding):
    """Feeds the distance to an MLP, on a learned logarithmic scale and normalized by the query position: the input
    stays within [0, 1] at any sequence length."""

    family = "bias"
    formula = r"f_\theta\!\left(\frac{\psi(i-j)}{\psi(\max(L,i))}\right),\quad \psi(x)=\ln(|c|\,x+1)"
    paper = Paper(
        "Functional Interpolation for Relative Positions Improves Long Context Transformers",
        ("Shanda Li", "Chong You", "Guru Guruganesh", "Joshua Ainslie", "Santiago Ontanon", "Manzil Zaheer",
         "Sumit Sanghai", "Yiming Yang", "Sanjiv Kumar", "Srinadh Bhojanapalli"),
        2023, "2310.04418",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        hidden: Annotated[int, Param("width of the network", low=1)] = 32,
        threshold: Annotated[
            float | None,
            Param("start of the learned L, below which positions are not normalized; none: trained length", low=1.0),
        ] = None,
        c: Annotated[float, Param("start of the learned scale inside the logarithm", low=1e-6)] = 0.1,
        share_layers: Annotated[bool, Param("one network for all layers (the paper's FIRE-S)")] = False,
    ) -> None:
        super().__init__(shape, extrapolation="extends", causal_only=True, per_layer=not share_layers)
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

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b h q k"]:
        near = self._near(context)
        far = context.q.slice(near, context.q.length)
        if near == 0:
            return self._far(far, context.k)
        line = self._values(replace(context, q=context.q.slice(0, near)).diagonals())
        bias = line.unfold(-1, context.k.length, 1).flip(1).unsqueeze(0)
        return bias if near == context.q.length else torch.cat((bias, self._far(far, context.k)), dim=2)

    def _near(self, context: AttentionContext) -> int:
        """The number of leading queries known to be at positions up to L. They share one normalizer, so their biases
        depend on the relative position alone and the network runs once for each. 0 if the values cannot be read."""
        if not context.consecutive or context.q.first is None or self.c.is_meta or torch.compiler.is_compiling():
            return 0
        length = int(abs(self.multiplier.item()) * self.threshold * (1 - 1e-6))
        return max(0, min(context.q.length, length + 1 - context.q.first))

    def _far(self, q: Positions, k: Positions) -> Float[Tensor, "#b h q k"]:
        """Each query and key by itself. Many go in parts that are recomputed in the backward pass: a hidden layer for
        every pair is large."""
        parts = q.values.split(max(1, _AT_ONCE // (len(q.values) * k.length)), dim=1)
        again = len(parts) > 1 and torch.is_grad_enabled() and not torch.compiler.is_compiling()
        run = partial(checkpoint, self._values, use_reentrant=False) if again else self._values
        found = [run(at - k.values[:, None, :, 0], at) for at in parts]
        return torch.cat(found, dim=2).transpose(0, 1)

    def _values(
        self, relative: Num[Tensor, "*shape"], at: Num[Tensor, "#b q 1"] | None = None
    ) -> Float[Tensor, " h *shape"]:
        """The network at these relative positions, for queries at positions `at`; None: anywhere up to L."""
        scale = upcast(self.c).abs()
        relative = relative.clamp(min=0).to(scale.dtype)  # keys ahead are masked; the logarithm must not see them
        longest = (upcast(self.multiplier) * self.threshold).abs()
        if at is not None:
            longest = torch.maximum(longest, at.to(scale.dtype))
        ratio = torch.log1p(scale * relative) / (torch.log1p(scale * longest) + 1e-6)
        hidden = torch.relu(nn.functional.linear(ratio.unsqueeze(-1), upcast(self.inner), upcast(self.inner_bias)))
        return nn.functional.linear(hidden, upcast(self.outer)).movedim(-1, 0).contiguous()
