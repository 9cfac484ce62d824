"""A distance penalty that an MLP adapts to the scores of all heads."""

from collections.abc import Iterator
from math import isqrt
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import leaky_relu_, softplus

from ordinate.core.encoding import Encoding, Features, Keys, Paper, Queries, Scores, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext
from ordinate.encodings._shared.slopes import slopes

TILE = 8192  # pairs of query and key whose hidden layer (32 numbers each, 1 MB) fits a processor's cache
SLOPE = 0.01  # of LeakyReLU below 0


class Dape(Encoding):
    """Adds a distance penalty to every score, and the output of an MLP that reads the scores and penalties of all heads
    for that query and key: content decides how distance counts."""

    family = "content"
    reads_heads = False
    formula = r"A + B + W_2\,\mathrm{LeakyReLU}(W_1 [A; B] + b),\quad B_h = -p_h \ln(1 + a_h |i-j|)"
    paper = Paper(
        "DAPE: Data-Adaptive Positional Encoding for Length Extrapolation",
        ("Chuanyang Zheng", "Yihang Gao", "Han Shi", "Minbin Huang", "Jingyao Li", "Jing Xiong", "Xiaozhe Ren",
         "Michael Ng", "Xin Jiang", "Zhenguo Li", "Yu Li"),
        2024, "2405.14722",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        penalty: Annotated[
            Literal["kerple", "alibi"], Param("B: a trained logarithm of distance, or distance times fixed slopes")
        ] = "kerple",
        hidden: Annotated[int, Param("width of the network", low=1)] = 32,
    ) -> None:
        super().__init__(shape, shift_invariant=True, per_layer=True, real_positions=True)
        self.raw = nn.Parameter(torch.empty(2, shape.heads)) if penalty == "kerple" else None  # a and p, kept above 0
        self.inner = nn.Parameter(torch.empty(hidden, 2 * shape.heads))
        self.inner_bias = nn.Parameter(torch.empty(hidden))
        # no second bias: one number for all keys of a head would cancel in the softmax
        self.outer = nn.Parameter(torch.empty(shape.heads, hidden))

    def reset(self, generator: torch.Generator) -> None:
        for weight in (self.inner, self.inner_bias, self.outer):
            bound = (self.outer if weight is self.outer else self.inner).shape[1] ** -0.5  # torch's own start
            nn.init.uniform_(weight, -bound, bound, generator=generator)
        if self.raw is not None:  # as kerple: a from 0 to 1 and p from 0 to 2, but not below 0.01
            drawn = torch.rand(2, self.shape.heads, dtype=torch.float32, generator=generator).clamp_(0.01)
            with torch.no_grad():
                self.raw.copy_((drawn * torch.tensor([[1.0], [2.0]], dtype=torch.float32)).expm1().log())

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "h g"]:
        if self.raw is None:
            slope = torch.tensor(slopes(self.shape.heads), dtype=torch.float32, device=relative.device)
            return -slope[:, None] * upcast(relative.abs())
        a, p = softplus(upcast(self.raw))[..., None].unbind()
        penalty: Tensor = -p * torch.log1p(a * relative.abs().to(a.dtype))
        return penalty

    def score_mod(
        self, scores: Scores, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None
    ) -> Scores:
        """The penalty itself is added as every bias is."""
        penalty = self.bias(context)
        assert penalty is not None
        weights = (weight.to(scores.dtype) for weight in (self.inner, self.inner_bias, self.outer))
        ahead = context.start if context.causal else context.k.length
        adapted: Tensor = _Adapt.apply(scores, penalty.to(scores.dtype), *weights, ahead)  # type: ignore[no-untyped-call]
        return adapted


class _Adapt(torch.autograd.Function):
    """Scores plus the network's answer, in tiles of queries whose hidden layer fits a processor's cache; it is computed
    again for the gradient, never held. A tile leaves out keys that a causal model masks: `ahead` counts those that the
    first query has before it."""

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, penalty: Tensor, inner: Tensor, bias: Tensor, outer: Tensor, ahead: int
    ) -> Tensor:
        weights = torch.cat((inner, bias[:, None]), dim=1)
        ctx.save_for_backward(scores, penalty, weights, outer)
        ctx.ahead = ahead
        changed = scores.clone()
        for at, there in _tiles(scores, penalty, ahead):
            hidden = leaky_relu_(weights @ _inputs(scores[at], penalty[there]), SLOPE)
            tile = changed[at]
            tile += (outer @ hidden).view_as(tile)
        return changed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, None]:
        scores, penalty, weights, outer = ctx.saved_tensors
        to_scores, to_penalty = grad.clone(), torch.zeros_like(penalty, memory_format=torch.contiguous_format)
        to_weights, to_outer = torch.zeros_like(weights), torch.zeros_like(outer)
        back = weights[:, :-1].t()
        for at, there in _tiles(scores, penalty, ctx.ahead):
            inputs, tile = _inputs(scores[at], penalty[there]), grad[at]
            given = tile.reshape(len(outer), -1)
            hidden = leaky_relu_(weights @ inputs, SLOPE)
            to_outer.addmm_(given, hidden.t())
            to_hidden = torch.ops.aten.leaky_relu_backward(outer.t() @ given, hidden, SLOPE, True)
            to_weights.addmm_(to_hidden, inputs.t())
            to_scores_here, to_penalty_here = (back @ to_hidden).view(2, *tile.shape)
            to_scores[at] += to_scores_here
            to_penalty[there] += to_penalty_here
        return to_scores, to_penalty, to_weights[:, :-1], to_weights[:, -1], to_outer, None


def _inputs(scores: Float[Tensor, "h q k"], penalty: Float[Tensor, "h q k"]) -> Float[Tensor, "inputs pairs"]:
    """Both for each pair, and a 1 for the bias."""
    return torch.cat((scores, penalty, scores.new_ones(1, *scores.shape[1:]))).flatten(1)


def _tiles(scores: Tensor, penalty: Tensor, ahead: int) -> Iterator[tuple[Any, Any]]:
    """Where tiles lie among scores [b, h, q, k] and penalties [#b, h, q, k]."""
    queries, keys = scores.shape[2:]
    for row in range(len(scores)):
        stop = 0
        while stop < queries:
            start, before = stop, min(ahead + stop, keys)
            stop = min(start + max((isqrt(before**2 + 4 * TILE) - before) // 2, 1), queries)
            part = (slice(None), slice(start, stop), slice(min(ahead + stop, keys)))
            yield (row, *part), (row % len(penalty), *part)
