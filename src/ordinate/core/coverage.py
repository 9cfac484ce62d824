"""Position coverage: which positions a training batch uses. Drawn by the caller, never inside an encoding."""

from typing import Literal, get_args

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError, nearest

Coverage = Literal["plain", "offset", "randomized"]


def draw(
    coverage: str, *, sides: tuple[int, ...], limit: int, generator: torch.Generator, rows: int = 1
) -> Int[Tensor, "rows n axes"]:
    """Position ids for `rows` sequences, or for one row that a whole batch shares.

    `sides` is (n,) for a text of n tokens and (height, width) for a grid in raster order; axes are drawn independently.
    `plain` is 0, 1, 2, ...; `offset` adds a random start, with all positions below `limit`; `randomized` draws sorted
    positions below `limit` without replacement (Ruoss et al. 2023).
    """
    if coverage not in get_args(Coverage):
        raise InputError(f"unknown position coverage {coverage!r}: {nearest(coverage, get_args(Coverage))}")
    longest = max(sides)
    if coverage != "plain" and longest > limit:
        raise InputError(f"{coverage} positions for length {longest} need limit >= {longest}, got {limit}")
    lines = [_axis(coverage, side, limit, generator, rows) for side in sides]
    grids = [
        line.view(rows, *(side if axis == i else 1 for i, side in enumerate(sides))).expand(rows, *sides)
        for axis, line in enumerate(lines)
    ]
    return torch.stack([grid.reshape(rows, -1) for grid in grids], dim=-1)


def _axis(coverage: str, side: int, limit: int, generator: torch.Generator, rows: int) -> Int[Tensor, "rows side"]:
    steps = torch.arange(side).expand(rows, side)
    if coverage == "plain":
        return steps
    if coverage == "offset":
        return steps + torch.randint(0, limit - side + 1, (rows, 1), generator=generator)
    ids = torch.rand(rows, limit, generator=generator).argsort(dim=1)[:, :side]
    return ids.sort(dim=1).values
