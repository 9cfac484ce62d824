"""Rotary position embedding with content-dependent angles."""

from typing import Annotated

import torch
from torch import nn
from torch.nn.functional import linear, normalize

from ordinate.core.encoding import Embeddings, Encoding, Features, Heads, Paper, Prepared, Shape, Side, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.neighbors import convolved, with_earlier
from ordinate.encodings._shared.rotation import Convention, even_width, frequencies, spread, turn


class SelectiveRope(Encoding):
    """RoPE with content-dependent angles: each token computes a rotation step for every pair of channels, from itself
    and the few tokens before it, and the steps accumulate. Implemented from the paper. The order of tokens matters,
    their positions do not."""

    family = "rotation"
    formula = (
        r"\text{angle of pair } k = \tau_k \sum_{s \le t} \phi_{s,k},\quad"
        r"\phi_t = \mathrm{conv}\bigl(W_2 W_1 x_t/\|x_t\|\bigr),\quad \tau_k = \tau\, b^{-2k/d}"
    )
    paper = Paper(
        "Selective Rotary Position Embedding",
        ("Sajad Movahedi", "Timur Carstensen", "Arshia Afzal", "Frank Hutter", "Antonio Orvieto", "Volkan Cevher"),
        2026,
        "2511.17388",
        venue="The Fourteenth International Conference on Learning Representations",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        rank: Annotated[int, Param("width between the two projections", low=1)] = 16,
        window: Annotated[int, Param("tokens that a step is read from", low=1)] = 4,
        gate: Annotated[bool, Param("each token also says, for every head, how much its step counts at all")] = False,
        bias: Annotated[bool, Param("a trained step beside what is read: it starts as RoPE")] = False,
        per_head: Annotated[bool, Param("separate steps for every head")] = True,
        base: Annotated[float, Param("base of the wavelengths", low=1.01)] = 500_000.0,
        tau: Annotated[float, Param("angle of the fastest pair for a step of one", low=1e-6)] = 1.0,
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "halves",
    ) -> None:
        even_width("selective_rope", shape.head_dim, shape.dim, shape.heads)
        heads, count = shape.heads if per_head else 1, shape.head_dim // 2
        super().__init__(
            shape, shift_invariant=True, per_layer=True, side_dependent=per_head, real_positions=True,
            feature_width=rank + heads * count,
            gqa_needs="per_head=false" if per_head else "",
        )  # fmt: skip
        self.rank, self.window, self.heads = rank, window, heads
        self.base, self.tau, self.pairs = base, tau, pairs
        self.inner = nn.Parameter(torch.empty(rank, shape.dim))
        self.outer = nn.Parameter(torch.empty(heads * count, rank))
        self.conv = nn.Parameter(torch.empty(window, heads * count))  # the token itself first
        self.gate = nn.Parameter(torch.empty(heads, shape.dim)) if gate else None
        self.gate_bias = nn.Parameter(torch.empty(heads)) if gate else None
        self.step_log = nn.Parameter(torch.empty(heads * count)) if bias else None

    def reset(self, generator: torch.Generator) -> None:
        for weight in (self.inner, self.outer, self.conv, self.gate):
            if weight is not None:  # torch's own start for linear layers and convolutions
                inputs = self.window if weight is self.conv else weight.shape[1]
                nn.init.uniform_(weight, -(inputs**-0.5), inputs**-0.5, generator=generator)
        for weight in (self.gate_bias, self.step_log):
            if weight is not None:
                nn.init.zeros_(weight)

    def features(self, x: Embeddings, positions: Positions, before: Features | None) -> Features:
        """The inner projection, which later tokens look back at, and the steps added up so far."""
        unit = normalize(upcast(x), dim=-1)
        inner = linear(unit, upcast(self.inner))
        real = None if positions.padding_mask is None else positions.padding_mask.unsqueeze(-1)
        if real is not None:
            inner = inner * real  # padding contributes nothing to later tokens, in a cached step too
        earlier = None if before is None else before[..., : self.rank]
        projected = linear(with_earlier(inner, earlier, self.window - 1), upcast(self.outer))
        steps = convolved(projected, upcast(self.conv), positions, cached=before is not None)
        if self.step_log is not None:
            steps = steps + upcast(self.step_log).exp()
        if self.gate is not None and self.gate_bias is not None:
            share = linear(unit, upcast(self.gate), upcast(self.gate_bias)).sigmoid()
            steps = (steps.unflatten(-1, (self.heads, -1)) * share.unsqueeze(-1)).flatten(-2)
        if real is not None:
            steps = steps * real
        total = steps.cumsum(dim=1)
        if before is not None:
            total = total + before[:, -1:, self.rank :]
        return torch.cat((inner, total), dim=-1)

    def rotate(self, x: Heads, state: Prepared, side: Side, features: Features | None = None) -> Heads:
        if features is None:  # without features there is no rotation
            return x
        self.check_heads(x.shape[1])
        tau = self.tau * frequencies(self.shape.head_dim, self.base, x.device)
        total = features[..., self.rank :].unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return turn(x, spread(tau * total, self.pairs), self.pairs)
