"""A depthwise convolution over the embeddings."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.neighbors import in_line, on_grid

MOST_TEXT, MOST_GRID = 255, 31  # tokens along a window; every one of them, on a grid their square, is a step of work


class Conditional(Encoding):
    """Adds a depthwise convolution of the token embeddings, as the conditional encoding of vision transformers does. A
    token's neighbors indicate order, missing neighbors the edges. On grids the kernel is square; in causal models it
    reads no later tokens. It has no table and no maximum length."""

    family = "added"
    formula = r"x_p \mapsto x_p + \sum_{\delta \in \text{window}} w_\delta \odot x_{p-\delta}"
    paper = Paper(
        "Conditional Positional Encodings for Vision Transformers",
        ("Xiangxiang Chu", "Zhi Tian", "Bo Zhang", "Xinlong Wang", "Chunhua Shen"),
        2021,
        "2102.10882",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        window: Annotated[
            int, Param("tokens it spans, the token itself among them; on a grid along each side", low=2, high=MOST_TEXT)
        ] = 3,
        size: Annotated[
            float, Param("root mean square of what is added over that of token embeddings at the start", low=0.0)
        ] = 0.1,
    ) -> None:
        if window % 2 == 0 and not (shape.causal and shape.axes == 1):
            raise InputError(
                f"conditional puts a token in the middle of its window on grids and in bidirectional models: window"
                f" must be odd there, got {window}"
            )
        if shape.axes == 2 and window > MOST_GRID:
            raise InputError(f"conditional takes a window of at most {MOST_GRID} on a grid, got {window}")
        super().__init__(shape, shift_invariant=True, axes=(1, 2), extra_inputs=("neighbors",))
        half = window // 2
        across = range(half, -half - 1, -1)
        self.line = range(window) if shape.causal else across
        self.grid: list[tuple[int, int]] = []
        if shape.axes == 2:  # a causal model reads a grid row by row: what comes later is never seen
            self.grid = [(r, c) for r in across for c in across if not shape.causal or (r, c) >= (0, 0)]
        taps = len(self.grid or self.line)
        self.std = size * taps**-0.5
        self.kernel = nn.Parameter(torch.empty(taps, shape.dim))

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.kernel, std=self.std, generator=generator)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        if self.shape.axes == 1:
            neighbors = in_line(positions, self.line)
        else:
            neighbors = on_grid(positions, self.grid, causal=self.shape.causal)
        full = upcast(x)
        total = full
        for weight, (at, there) in zip(upcast(self.kernel), neighbors, strict=True):
            beside = full.gather(1, at.unsqueeze(-1).expand(full.shape))
            total = total + torch.where(there.unsqueeze(-1), beside, 0) * weight
        return total.to(x.dtype)
