"""Choosing a learning rate on the pilot seed, by validation in distribution alone."""

import math
from collections.abc import Sequence
from itertools import groupby

from ordinate.results.comparison import RatePoint, Sweep
from ordinate.results.run_result import RunResult
from ordinate.statistics.words import Score

LOWEST, HIGHEST = 1e-5, 1e-1  # the grid grows no further


def rung(rate: float, *, up: bool) -> float:
    """The next of ..., 0.001, 0.003, 0.01, ... above or below a rate."""
    decade = math.floor(math.log10(rate))
    ladder = [float(f"{digit}e{power}") for power in range(decade - 1, decade + 2) for digit in (1, 3)]
    if up:
        return next(step for step in ladder if step > rate * 1.001)
    return next(step for step in reversed(ladder) if step < rate / 1.001)


def point(rate: float, result: RunResult | None) -> RatePoint:
    """What a pilot run says; a run that failed or diverged says nothing."""
    if result is None or result.diverged:
        return RatePoint(rate, None, None, {}, 0.0)
    valid = result.valid
    outside = {row.key: row.score for row in result.out_of_distribution}
    if valid.score is None or result.metric == "loss":
        error = valid.loss_error or 0.0
    else:  # of a rate, with two more of each answer, so that it is not 0 when all are right (Agresti & Coull 1998)
        n = valid.sequences + 4
        share = (valid.score * valid.sequences + 2) / n
        error = math.sqrt(share * (1 - share) / n)
    return RatePoint(rate, valid.score, valid.loss, outside, error)


def left_floor(result: RunResult | None) -> bool:
    """Whether a pilot learned anything at all; one that diverged did not."""
    if result is None or result.diverged:
        return False
    return Score(result.valid.score, result.valid.floor, result.valid.sequences).above_floor


def choose(task: str, encoding: str, points: Sequence[RatePoint], *, lower: bool) -> Sweep:
    """Rates within one standard error of the best tie; the middle of the contiguous ones around the best decides.

    Of two in the middle, the lower one. The largest rate that still works on one seed may not work on the next.
    """
    points = sorted(points, key=lambda p: p.rate)
    scored = [p for p in points if p.score is not None]
    if not scored:  # a lower rate is the remedy for divergence
        return Sweep(task, encoding, tuple(points), (), points[0].rate, True)
    sign = -1.0 if lower else 1.0
    best = max(scored, key=lambda p: sign * (p.score or 0.0))
    tied = [p for p in scored if sign * ((p.score or 0.0) - (best.score or 0.0)) >= -best.error]
    groups = [list(group) for among, group in groupby(points, key=lambda p: p in tied) if among]
    contiguous = next(group for group in groups if best in group)
    chosen = contiguous[(len(contiguous) - 1) // 2]
    edges = (points[0].rate, points[-1].rate)
    return Sweep(
        task, encoding, tuple(points), tuple(p.rate for p in tied), chosen.rate, all(p.rate in edges for p in tied)
    )


def grow(sweep: Sweep) -> float | None:
    """The rate to try next, if the best one lies at an edge of the grid and the bound is not reached."""
    if not sweep.at_edge:
        return None
    rates = [p.rate for p in sweep.points]
    sides = (True, False) if sweep.chosen == rates[-1] and sweep.tied else (False, True)
    for up in sides if len(rates) == 1 else sides[:1]:
        wanted = rung(rates[-1] if up else rates[0], up=up)
        if wanted <= HIGHEST * 1.001 if up else wanted >= LOWEST * 0.999:
            return wanted
    return None
