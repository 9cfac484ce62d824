"""The scores of one run by length: where they fall below the bar, and the area under them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


class Point(NamedTuple):
    """One tested length; `score` is None where the encoding cannot go there or the run diverged."""

    length: int
    score: float | None
    missing: bool = False  # other runs were tested here, this one was not


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a curve first falls below a bar."""

    length: float
    censored: bool = False  # it does not: this is the longest length, and the true one may lie beyond
    untested: bool = False  # it ends where the run was not tested


def crossing(points: Sequence[Point], bar: float) -> Crossing:
    """Interpolated in log length between the last length at the bar and the first below it; 0 if all are below.

    `points` by length. Where the encoding cannot go, the curve ends at the length before.
    """
    before: Point | None = None
    for point in points:
        if point.missing or point.score is None:
            return Crossing(before.length if before else 0.0, untested=point.missing)
        if point.score < bar:
            if before is None or before.score is None:
                return Crossing(0.0)
            share = (before.score - bar) / (before.score - point.score)
            return Crossing(before.length * (point.length / before.length) ** share)
        before = point
    return Crossing(before.length, censored=True) if before else Crossing(0.0, untested=True)


def area(points: Sequence[Point], floors: Mapping[int, float] | None) -> float | None:
    """The mean score over log length, by the trapezoidal rule; None with a length that was not tested.

    Where the encoding cannot go it counts as the floor; a loss has none, so there is no area.
    """
    if len(points) < 2 or any(point.missing for point in points):
        return None
    if floors is None and any(point.score is None for point in points):
        return None
    values = [(floors or {})[point.length] if point.score is None else point.score for point in points]
    logs = [math.log(point.length) for point in points]
    parts = [
        (high - low) * (one + two) / 2 for (low, high), (one, two) in zip(pairwise(logs), pairwise(values), strict=True)
    ]
    return math.fsum(parts) / (logs[-1] - logs[0])
