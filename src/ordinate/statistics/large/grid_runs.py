"""Every run of a comparison: whether it learned its task, and its scores by length."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ordinate.statistics.cells import CurveRules, SeedRun
from ordinate.statistics.large.columns import UNKNOWN
from ordinate.statistics.large.grid import ID, OOD, SHIFT, Grid, starts
from ordinate.statistics.length_curve import Point


def runs_of(grid: Grid, rules: Sequence[CurveRules]) -> Iterator[dict[str, list[SeedRun]]]:
    """Of each task, by encoding and seed."""
    known = [None if learned == UNKNOWN else bool(learned) for learned in grid.learned[grid.runs].tolist()]
    diverged, fine = np.zeros((2, len(grid.runs)), dtype=bool)
    diverged[grid.run[grid.diverged]] = True
    fine[grid.run[(grid.split == ID) & ~np.isnan(grid.score)]] = True
    columns = (grid.place[grid.runs], grid.seed[grid.runs], diverged, fine)
    place, seed, lost, found = (column.tolist() for column in columns)
    curves = _curves(grid)
    edges = np.searchsorted(grid.task[grid.runs], np.arange(len(grid.tasks) + 1)).tolist()
    for encodings, own_rules, (begin, end) in zip(grid.encodings, rules, pairwise(edges), strict=True):
        own: dict[str, list[SeedRun]] = {encoding: [] for encoding in encodings}
        for run in range(begin, end):
            points = _with_missing(curves.get(run, []), own_rules)
            own[encodings[place[run]]].append(own_rules.run(seed[run], known[run], lost[run], found[run], points))
        yield own


def _curves(grid: Grid) -> dict[int, list[tuple[int, bool, float | None]]]:
    """Of every run that has scores in distribution or at longer lengths: length, whether it is longer, and score."""
    along = np.flatnonzero(grid.split != SHIFT)
    order = along[np.lexsort((grid.split[along], grid.length[along], grid.run[along]))]
    columns = (grid.length[order], grid.split[order] == OOD, grid.score[order])
    length, longer, score = (column.tolist() for column in columns)
    first = starts(grid.run[order])
    run = grid.run[order[first]].tolist()
    return {
        run[index]: [
            (length[row], longer[row], None if score[row] != score[row] else score[row]) for row in range(*span)
        ]
        for index, span in enumerate(pairwise([*first.tolist(), len(order)]))
    }


def _with_missing(rows: list[tuple[int, bool, float | None]], rules: CurveRules) -> list[Point]:
    """The points of a run; a longer length that only other runs have is missing."""
    points = [Point(length, score) for length, _, score in rows]
    own = {length for length, longer, _ in rows if longer}
    absent = [Point(length, None, True) for length in rules.longer if length not in own]
    return sorted([*points, *absent], key=lambda point: point.length) if absent else points
