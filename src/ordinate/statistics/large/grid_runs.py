"""Every run of a comparison: whether it learned its task, and how far what it learned holds."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from jaxtyping import Int

from ordinate.statistics.cells import SeedRun
from ordinate.statistics.large.columns import UNKNOWN
from ordinate.statistics.large.grid import ID, OOD, SHIFT, Grid, starts


def runs_of(grid: Grid) -> Iterator[dict[str, list[SeedRun]]]:
    """Of each task, by encoding and seed."""
    known = [None if learned == UNKNOWN else bool(learned) for learned in grid.learned[grid.runs].tolist()]
    diverged, fine = np.zeros((2, len(grid.runs)), dtype=bool)
    diverged[grid.run[grid.diverged]] = True
    fine[grid.run[(grid.split == ID) & ~np.isnan(grid.score)]] = True
    columns = (grid.place[grid.runs], grid.seed[grid.runs], diverged, fine)
    place, seed, lost, found = (column.tolist() for column in columns)
    ends = _ends(grid)
    edges = np.searchsorted(grid.task[grid.runs], np.arange(len(grid.tasks) + 1)).tolist()
    for encodings, (begin, end) in zip(grid.encodings, pairwise(edges), strict=True):
        own: dict[str, list[SeedRun]] = {encoding: [] for encoding in encodings}
        for run in range(begin, end):
            own[encodings[place[run]]].append(SeedRun(seed[run], known[run], *ends[run], lost[run], found[run]))
        yield own


def _ends(grid: Grid) -> list[tuple[int, bool]]:
    """Of every run: how far it holds, and whether it ends for want of a row.

    A longer length that other runs have a row for and this run has not ends it: its score there is unknown.
    """
    ends = [(0, False)] * len(grid.runs)
    along = np.flatnonzero(grid.split != SHIFT)
    order = along[np.lexsort((grid.split[along], grid.length[along], grid.run[along]))]
    number, longer = _longer_lengths(grid)
    holds = (grid.score >= grid.bar)[order].tolist()
    length, which = grid.length[order].tolist(), number[grid.range[order]].tolist()
    first = starts(grid.run[order])
    run, task = grid.run[order[first]].tolist(), grid.task[order[first]].tolist()
    for index, (begin, end) in enumerate(pairwise([*first.tolist(), len(order)])):
        furthest, passed = 0, 0
        for row in range(begin, end):
            if which[row] != UNKNOWN and which[row] != passed:  # there is a longer length between
                untested = True
                break
            if not holds[row]:
                untested = False
                break
            furthest, passed = length[row], passed + (which[row] != UNKNOWN)
        else:
            untested = passed < longer[task[index]] or not longer[task[index]]
        ends[run[index]] = furthest, untested
    return ends


def _longer_lengths(grid: Grid) -> tuple[Int[np.ndarray, " ranges"], list[int]]:
    """Of each range that is longer, which of its task's it is, else UNKNOWN; of each task, how many it has."""
    task, longer = grid.task[grid.ranges], grid.split[grid.ranges] == OOD
    counts = np.bincount(task[longer], minlength=len(grid.tasks))
    before = np.cumsum(longer) - longer
    number = before - (np.cumsum(counts) - counts)[task]
    return np.where(longer, number, UNKNOWN), counts.tolist()
