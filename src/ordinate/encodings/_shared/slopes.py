"""The slopes of ALiBi: one per head, from steep to flat."""

import math


def slopes(heads: int, max_bias: float = 8.0) -> list[float]:
    """Slopes as the official code has them: a geometric series for powers of two; otherwise that of the next lower
    power, then every other slope of the next higher one."""
    lower = 2 ** int(math.log2(heads))
    series = [2 ** (-max_bias * h / lower) for h in range(1, lower + 1)]
    return series if lower == heads else series + slopes(2 * lower, max_bias)[0::2][: heads - lower]
