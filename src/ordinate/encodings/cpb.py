"""An MLP from offset to bias."""

from itertools import pairwise
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext


class Cpb(Encoding):
    """Feeds the offset of two tokens, on a logarithmic scale, to an MLP that outputs a bias for each head (continuous
    position bias). Learned biases transfer to larger windows and to fractional positions."""

    family = "bias"
    formula = (
        r"16\,\sigma\bigl(W_2\,\mathrm{ReLU}(W_1 \tilde\Delta + b)\bigr),\quad"
        r"\tilde\Delta = \mathrm{sign}(\Delta) \log_8(1 + 8|\Delta|/(W-1)),\quad \Delta = p_i - p_j"
    )
    paper = Paper(
        "Swin Transformer V2: Scaling Up Capacity and Resolution",
        ("Ze Liu", "Han Hu", "Yutong Lin", "Zhuliang Yao", "Zhenda Xie", "Yixuan Wei", "Jia Ning", "Yue Cao",
         "Zheng Zhang", "Li Dong", "Furu Wei", "Baining Guo"),
        2021, "2111.09883",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        hidden: Annotated[int, Param("width of the network", low=1)] = 512,
        depth: Annotated[int, Param("hidden layers of the network", low=1, high=64)] = 1,
        activation: Annotated[Literal["relu", "silu"], Param("what follows each hidden layer")] = "relu",
        distance: Annotated[
            Literal["window", "log", "plain"],
            Param("offsets over the window, then their logarithm; ln(1 + offset); or offsets as they are"),
        ] = "window",
        window: Annotated[int | None, Param("W: positions on each axis; none: the trained length", low=2)] = None,
        bound: Annotated[float | None, Param("biases lie between 0 and this; none: anywhere", low=1e-3)] = 16.0,
        share_layers: Annotated[bool, Param("one network for all layers")] = False,
    ) -> None:
        if window is not None and distance != "window":
            raise InputError(
                f"cpb has window {window}, which distance={distance} does not read: choose distance=window"
            )
        super().__init__(
            shape, extrapolation="extends", shift_invariant=True, per_layer=not share_layers, axes=(1, 2),
            real_positions=True,
        )  # fmt: skip
        self.activation, self.distance, self.bound = activation, distance, bound
        self.window = window or max(shape.length, 2)  # on a grid, `length` is that of a side
        widths = [shape.axes, *[hidden] * depth]
        self.weights = nn.ParameterList(torch.empty(b, a) for a, b in pairwise(widths))
        self.biases = nn.ParameterList(torch.empty(b) for b in widths[1:])
        self.outer = nn.Parameter(torch.empty(shape.heads, hidden))  # no bias here, as in the paper's code

    def reset(self, generator: torch.Generator) -> None:
        for weight, bias in zip(self.weights, self.biases, strict=True):
            for tensor in (weight, bias):
                nn.init.uniform_(tensor, -(weight.shape[1] ** -0.5), weight.shape[1] ** -0.5, generator=generator)
        nn.init.uniform_(self.outer, -(self.outer.shape[1] ** -0.5), self.outer.shape[1] ** -0.5, generator=generator)

    def network(self, offsets: Num[Tensor, "*shape axes"]) -> Float[Tensor, "*shape h"]:
        """The bias of every head at each offset."""
        outer = upcast(self.outer)
        x = offsets.to(outer.dtype)
        if self.distance == "window":
            x = x.sign() * torch.log2(1 + x.abs() * (8 / (self.window - 1))) / 3
        elif self.distance == "log":
            x = x.sign() * torch.log1p(x.abs())
        active = nn.functional.relu if self.activation == "relu" else nn.functional.silu
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = active(nn.functional.linear(x, upcast(weight), upcast(bias)))
        x = nn.functional.linear(x, outer)
        return x if self.bound is None else self.bound * torch.sigmoid(x)

    def relative_bias(self, relative: Num[Tensor, " g"]) -> Float[Tensor, "h g"]:
        return self.network(relative[:, None]).t()

    def relative_only(self) -> bool:
        return self.shape.axes == 1

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b #h q k"] | None:
        if self.shape.axes == 1:
            return super().bias(context)
        offsets = context.q.values[:, :, None] - context.k.values[:, None]
        known = _distinct(offsets)
        if known is None:
            return self.network(offsets).movedim(-1, 1)
        return nn.functional.embedding(known[1], self.network(known[0])).movedim(-1, 1)


def _distinct(offsets: Num[Tensor, "#b q k 2"]) -> tuple[Int[Tensor, "m 2"], Int[Tensor, "#b q k"]] | None:
    """All offsets that can occur and which of them each is, so that the network runs once for each; None where
    nothing is gained or nothing can be looked at."""
    if offsets.is_floating_point() or offsets.is_meta or torch.compiler.is_compiling() or not offsets.numel():
        return None
    flat = offsets.flatten(0, 2)
    low, high = flat.amin(dim=0), flat.amax(dim=0)
    rows, columns = (high - low + 1).tolist()
    if rows * columns >= len(flat):
        return None
    every = torch.cartesian_prod(torch.arange(rows, device=flat.device), torch.arange(columns, device=flat.device))
    step = offsets - low
    return every + low, step[..., 0] * columns + step[..., 1]
