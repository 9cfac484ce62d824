"""Counting digits within the numbers of a text: what encodings that know numbers share."""

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.positions import Positions, count_real

Digits = tuple[int, ...]  # the first and the last token id that is a digit


def check_digits(owner: str, digits: Digits) -> None:
    """Two token ids, in order."""
    if len(digits) != 2 or digits[0] > digits[1]:
        raise InputError(
            f"{owner} takes digits as the first and the last token id that is one, such as [0, 9], got {list(digits)}"
        )


def digit_counts(positions: Positions, digits: Digits) -> Int[Tensor, "#b n"]:
    """1, 2, 3 ... along each run of digits, and 0 for other tokens. A run ends with its document, and at padding."""
    if positions.tokens is None:
        raise InputError("digits are counted by token ids, which these positions lack: give them tokens=")
    digit = (positions.tokens >= digits[0]) & (positions.tokens <= digits[1])
    if positions.padding_mask is not None:
        digit = digit & positions.padding_mask
    goes_on = digit & torch.nn.functional.pad(digit, (1, 0))[:, : positions.length]
    own = positions.has_previous(1)
    if own is not None:
        goes_on = goes_on & own
    count = digit.long().cumsum(dim=1)
    before = torch.where(goes_on, 0, count - digit.long()).cummax(dim=1).values  # digits ahead of this run
    return torch.where(digit, count - before, 0)


def first_position(token_positions: Positions) -> Int[Tensor, "#b n"]:
    """For every token the position at which its document begins, padding left out."""
    positions, real = token_positions.values[..., 0], token_positions.padding_mask
    real = torch.ones_like(positions, dtype=torch.bool) if real is None else real
    first = real & (count_real(real, token_positions.document_ids) == 1)
    index = torch.arange(token_positions.length, device=positions.device)
    at = torch.where(first, index, 0).cummax(dim=1).values
    rows = max(len(at), len(positions))
    return positions.expand(rows, -1).gather(1, at.expand(rows, -1))


def check_rows(owner: str, ids: Int[Tensor, "#b n"], rows: int) -> None:
    """Refuse an id that the table has no row for. Compiled code cannot look."""
    if ids.is_meta or torch.compiler.is_compiling():
        return
    largest = int(ids.max())
    if largest >= rows:
        raise InputError(
            f"{owner} has rows for ids up to {rows - 1}, but a number of this text reaches {largest}: raise rows"
        )
