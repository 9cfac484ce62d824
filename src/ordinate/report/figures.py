"""All pictures of a comparison, each defined once."""

from collections.abc import Iterator
from dataclasses import replace

from ordinate.report.attention import attention
from ordinate.report.chart import Figure, file_names
from ordinate.report.colors import styles
from ordinate.report.curves import by_length, learning, rates
from ordinate.report.ranking import ranking
from ordinate.results.comparison import Comparison

MOST_TASKS = 100  # that are shown one by one, with pictures
MOST_RANKED = 100  # encodings of a picture of ranks


def figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Pictures by task: scores by length, learning, ranks, rates, attention; then ranks over families of tasks."""
    found = list(_all(comparison))
    names = file_names(figure.name for figure in found)
    return tuple(replace(figure, name=names[figure.name]) for figure in found)


def _all(comparison: Comparison) -> Iterator[Figure]:
    looks = styles(comparison.analysis.encodings)
    for task in comparison.analysis.tasks[:MOST_TASKS]:
        head = task.shown
        for chart in (by_length(comparison, task, looks), learning(comparison, task, looks)):
            if chart is not None:
                yield chart
        if head.ranks is not None and 1 < len(head.ranks.average) <= MOST_RANKED:
            title = f"Ranks on {task.task}, {head.name}"
            yield ranking(f"{task.task} ranks", title, "seeds", head.ranks, looks, comparison.analysis.alpha, task.task)
        chart = rates(comparison, task, looks)
        if chart is not None:
            yield chart
        yield from attention(comparison, task)
    for family, ranks in comparison.analysis.families.items():
        if 1 < len(ranks.average) <= MOST_RANKED:
            title = f"Ranks over the tasks of the family {family}"
            yield ranking(f"family {family} ranks", title, "tasks", ranks, looks, comparison.analysis.alpha)
