"""The slopes of ALiBi, one per head from steep to flat, and what its fixed and trained form share."""

import math
from typing import Annotated, Literal

from ordinate.core.encoding import Paper, Shape
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param

Sides = Annotated[
    Literal["symmetric", "asymmetric"], Param("in bidirectional models: one slope for both sides, or two")
]
ALIBI = Paper(
    "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation",
    ("Ofir Press", "Noah A. Smith", "Mike Lewis"),
    2021,
    "2108.12409",
)


def slopes(heads: int, max_bias: float = 8.0) -> list[float]:
    """Slopes as the official code has them: a geometric series for powers of two; otherwise that of the next lower
    power, then every other slope of the next higher one."""
    lower = 2 ** int(math.log2(heads))
    series = [2 ** (-max_bias * h / lower) for h in range(1, lower + 1)]
    return series if lower == heads else series + slopes(2 * lower, max_bias)[0::2][: heads - lower]


def check_sides(owner: str, shape: Shape, sides: str) -> None:
    """Refuse a slope to the right in a causal model."""
    if sides == "asymmetric" and shape.causal:
        raise InputError(f"{owner} with sides=asymmetric is for bidirectional models: a causal one never looks right")
