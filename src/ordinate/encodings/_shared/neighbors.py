"""The neighbors of each token, in a line or on a grid."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from ordinate.core.positions import Positions

Beside = tuple[Int[Tensor, "#b n"], Bool[Tensor, "#b n"]]  # which token, and whether there is one


def with_earlier(
    new: Float[Tensor, "b n c"], before: Float[Tensor, "b m c"] | None, back: int
) -> Float[Tensor, "b {back}+n c"]:
    """Rows of tokens behind the last `back` of those that a cache has seen, or zeros where there are none."""
    rows = new if before is None or back == 0 else torch.cat((before[:, -back:], new), dim=1)
    return pad(rows, (0, 0, back + new.shape[1] - rows.shape[1], 0))


def convolved(
    rows: Float[Tensor, "b m c"], taps: Float[Tensor, "w c"], positions: Positions, *, cached: bool
) -> Float[Tensor, "b n c"]:
    """For every token a weighted sum of its row and those before it, the first weight being its own.

    `rows` come from `with_earlier`, with w - 1 rows before those of `positions`. Other documents and padding contribute
    nothing; a cache holds one document, with zeros at padding.
    """
    n, back = positions.length, len(taps) - 1
    total = torch.zeros_like(rows[:, back:])
    for step, tap in enumerate(taps):
        part = rows[:, back - step : back - step + n] * tap
        own = None if cached else positions.has_previous(step)
        total = total + (part if own is None else part * own.unsqueeze(-1))
    return total


def in_line(positions: Positions, steps: Sequence[int]) -> Iterator[Beside]:
    """For every token the one so many tokens before it (negative: after it), if that is real and of its document."""
    index = torch.arange(positions.length, device=positions.values.device)[None]
    for back in steps:
        wanted = index - back
        at = wanted.clamp(0, positions.length - 1)
        there = at == wanted
        for row, same in ((positions.padding_mask, None), (positions.document_ids, positions.document_ids)):
            if row is not None:
                found = row.gather(1, at.expand(len(row), -1))
                there = there & (found if same is None else found == same)
        yield at, there


def on_grid(positions: Positions, steps: Sequence[tuple[int, int]], *, causal: bool) -> Iterator[Beside]:
    """For every token the one so many rows and columns before it, if that is real and of its document; of several in
    one spot the last, for a causal model the last up to the token itself.

    Every spot has a number; all are sorted once, and each step looks the numbers of the spots it wants up in them.
    """
    n, device = positions.length, positions.values.device
    index = torch.arange(n, device=device)[None]
    margin = max(abs(step) for offset in steps for step in offset)
    spot = positions.values - positions.values.amin(dim=1, keepdim=True) + margin
    height, width = (spot.amax(dim=(0, 1)) + margin + 1).unbind()
    number = spot[..., 0] * width + spot[..., 1]
    if positions.document_ids is not None:
        number = number + (positions.document_ids - positions.document_ids.amin()) * height * width
    line = number * n + index  # tokens of one spot in their order
    if positions.padding_mask is not None:
        line = torch.where(positions.padding_mask, line, -1)
    held, order = line.sort(dim=1)
    last = index if causal else torch.full_like(index, n - 1)
    for rows, columns in steps:
        wanted = (number - rows * width - columns).expand(len(held), -1)
        found = torch.searchsorted(held, wanted * n + last, right=True) - 1  # -1: all that are held come later
        at = found.clamp(min=0)
        yield order.gather(1, at), (found >= 0) & (held.gather(1, at) // n == wanted)
