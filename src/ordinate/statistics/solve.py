"""Where a function reaches a value."""

from collections.abc import Callable


def invert(increasing: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Where between low and high an increasing function reaches a value, by bisection."""
    for _ in range(64):  # as many halvings as a float has bits to tell apart
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < value else (low, middle)
    return (low + high) / 2
