"""All tasks of a grid, as `cells.task_scores` gives them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from ordinate.statistics.cells import CurveRules, TaskScores
from ordinate.statistics.large.columns import Observations
from ordinate.statistics.large.grid import Grid, starts
from ordinate.statistics.large.grid_cells import ranges_of
from ordinate.statistics.large.grid_runs import runs_of


def large_task_scores(
    columns: Observations, planned: Mapping[str, Sequence[str]], alpha: float
) -> Iterator[TaskScores]:
    """Every task in the order in which it first comes."""
    grid = Grid(columns, planned)
    if not grid.tasks:
        return
    ranges, shares = ranges_of(grid, alpha), grid.seen_share().tolist()
    edges = [*starts(grid.task[grid.ranges]).tolist(), len(ranges)]
    differing = set(grid.differing().tolist())
    by_task = [ranges[begin:end] for begin, end in pairwise(edges)]
    rules = [
        CurveRules.of(facts, [r.key for r in own], [r.floor for r in own])
        for facts, own in zip(grid.tasks, by_task, strict=True)
    ]
    for index, runs in enumerate(runs_of(grid, rules)):
        own = range(edges[index], edges[index + 1])
        yield TaskScores(
            grid.tasks[index],
            [ranges[at] for at in own],
            runs,
            [ranges[at].key for at in own if at in differing],
            {ranges[at].key: shares[at] for at in own if shares[at] == shares[at]},
        )
