"""Position coverage: which position ids a training batch stands at. Drawn by the caller, never inside an encoding."""

from typing import Literal, get_args

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ordinate.core.errors import InputError, nearest

Coverage = Literal["plain", "offset", "randomized"]


def draw(
    coverage: str, *, sides: tuple[int, ...], limit: int, generator: torch.Generator, rows: int = 1
) -> Int[Tensor, "rows n axes"]:
    """Position ids for `rows` sequences, or for one row that a whole batch shares.

    `sides` is (n,) for a text of n tokens and (height, width) for a grid in raster order; each axis is drawn apart.
    `plain` is 0, 1, 2 ...; `offset` starts anywhere that ends below `limit`; `randomized` takes ids below `limit`
    without replacement and sorts them (Ruoss et al. 2023).
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


def counted(
    padding_mask: Bool[Tensor, "#b n"],
    document_ids: Int[Tensor, "#b n"] | None = None,
    before: int | Int[Tensor, "b 1"] = 0,
) -> Int[Tensor, "b n 1"]:
    """Positions that count real tokens alone, starting again with each document; `before` came earlier.

    Padding stands where the last real token before it does, or at 0.
    """
    count = padding_mask.long().cumsum(dim=1) + before
    if document_ids is not None:
        first = torch.ones_like(document_ids, dtype=torch.bool)
        first[:, 1:] = document_ids[:, 1:] != document_ids[:, :-1]
        ahead = (count - padding_mask.long()).expand(len(document_ids), -1)  # real tokens before this one
        count = count - torch.where(first, ahead, 0).cummax(dim=1).values
    return (count - 1).clamp(min=0).unsqueeze(-1)
