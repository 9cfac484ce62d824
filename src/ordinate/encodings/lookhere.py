"""Heads that attend in different directions of a grid."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Paper, Shape, upcast
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext

# (row, column) steps clockwise from up, 45 degrees apart
_COMPASS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
_EVERYWHERE = (0.25, 0.0625, 0.015625, 0.00390625)  # slopes of heads that look everywhere


class LookHere(Encoding):
    """Restricts most heads to a direction on the grid: such a head attends only to cells in its field of view, the
    others to all cells. In every head scores decrease with distance. As in the paper's code, directions come in full
    sets: four, or eight with view=45. Nothing is trained. The paper also reduces the slopes from layer to layer: for
    that, give each layer its own `slope`."""

    family = "bias"
    formula = r"-m_h \lVert p_i - p_j \rVert,\quad -\infty \text{ outside the head's field of view}"
    paper = Paper(
        "LookHere: Vision Transformers with Directed Attention Generalize and Extrapolate",
        ("Anthony Fuller", "Daniel G. Kyrollos", "Yousef Yassin", "James R. Green"),
        2024,
        "2405.13985",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        view: Annotated[Literal[180, 90, 45], Param("degrees that a directed head sees")] = 180,
        everywhere: Annotated[
            int | None, Param("heads without direction; none: about a third, the others being full sets", low=0)
        ] = None,
        slope: Annotated[float, Param("factor on all slopes", low=0.0)] = 1.0,
    ) -> None:
        super().__init__(shape, shift_invariant=True, axes=(2,), real_positions=True)
        heads = shape.heads
        span = view // 45
        first = range(8) if span == 1 else range(0, 8, 2)  # the left edges of the fields of view
        ways = len(first)
        sets = max(1, round(2 * heads / 3 / ways))  # 8 of 12 heads and 4 of 6 have a direction in the paper's code
        free = max(0, heads - sets * ways) if everywhere is None else everywhere
        if free > heads:
            raise InputError(f"lookhere has {heads} heads, so everywhere can be at most {heads}, got {free}")
        if 0 < heads - free < ways:
            raise InputError(
                f"lookhere with view={view} needs a head for each of its {ways} directions, but has {heads - free}: use"
                " more heads, or fewer of them everywhere"
            )
        # A field between directions a and a + span lies on the inner side of the lines along both.
        fields = [(_COMPASS[(a + 2) % 8], _COMPASS[(a + span - 2) % 8]) for a in first]
        directed = range(heads - free)
        self.sides = [fields[h % len(fields)] for h in directed]
        steep = [0.5 ** (1 + h // len(fields)) for h in directed]
        flat = [_EVERYWHERE[h if free < 4 else 4 * h // free] for h in range(free)]
        self.slopes = [slope * m for m in steep + flat]

    def bias(self, context: AttentionContext) -> Float[Tensor, "#b h q k"]:
        ahead = upcast(context.k.values[:, None] - context.q.values[:, :, None])
        distance = ahead.square().sum(dim=-1).sqrt()
        device = distance.device
        slopes = torch.tensor(self.slopes, dtype=torch.float32, device=device)[:, None, None]
        penalty = -slopes * distance[:, None]
        if not self.sides:
            return penalty
        sides = torch.tensor(self.sides, dtype=ahead.dtype, device=device)
        beside = torch.einsum("bqka,hsa->bhsqk", ahead, sides)  # the side of each line; 0 is on it, and seen
        if context.k.values.is_floating_point():
            beside = beside + _rounding(context)[:, None, None]
        hidden = (beside < 0).any(dim=2)
        directed = penalty[:, : len(self.sides)].masked_fill(hidden, float("-inf"))
        return torch.cat((directed, penalty[:, len(self.sides) :]), dim=1)


def _rounding(context: AttentionContext) -> Float[Tensor, "#b q k"]:
    """How far rounding of real positions can put a cell beside the line on which it lies."""
    of_queries, of_keys = (upcast(at.values).abs().sum(dim=-1) for at in (context.q, context.k))
    total = of_queries[:, :, None] + of_keys[:, None]
    return 2 * torch.finfo(total.dtype).eps * total
