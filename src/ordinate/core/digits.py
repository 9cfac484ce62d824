"""Numbers written in digits."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.encoding import Past
from ordinate.core.place import LARGEST_POSITION


def digits(numbers: Int[Tensor, "#b n 1"], width: int, base: int) -> Float[Tensor, "#b n {width}"]:
    """Digits to this base, most significant first, zeros on the left: 6 in four binary digits is 0 1 1 0."""
    used = min(width, needed(base))
    value = torch.tensor([base**k for k in reversed(range(used))], dtype=torch.int64, device=numbers.device)
    found = torch.div(numbers, value, rounding_mode="floor") % base
    return F.pad(found, (width - used, 0)).to(torch.float32)


def needed(base: int) -> int:
    """How many digits the largest position has."""
    return next(count for count in range(1, LARGEST_POSITION) if base**count >= LARGEST_POSITION)


def digit_range(width: int, base: int) -> tuple[Past, int]:
    """What an encoding with so many digits declares: what happens past the trained length, and its limit."""
    limit = base ** min(width, needed(base))
    return ("computes", LARGEST_POSITION) if limit >= LARGEST_POSITION else ("refuses", limit)
