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


def figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Pictures by task: scores by length, learning, ranks, rates, attention; then ranks over families of tasks."""
    found = list(_all(comparison))
    names = file_names(figure.name for figure in found)
    return tuple(replace(figure, name=names[figure.name]) for figure in found)


def _all(comparison: Comparison) -> Iterator[Figure]:
    looks, alpha = styles(comparison.analysis.encodings), comparison.analysis.alpha
    for task in comparison.analysis.tasks[:MOST_TASKS]:
        yield from filter(None, (by_length(comparison, task, looks), learning(comparison, task, looks)))
        title = f"Ranks on {task.task}, {task.shown.name}"
        if not task.learned or any(good for good, _ in task.learned.values()):  # else there is nothing to rank
            yield from ranking(f"{task.task} ranks", title, "seeds", task.shown.ranks, looks, alpha, task)
        yield from filter(None, (rates(comparison, task, looks),))
        yield from attention(comparison, task)
    for family, ranks in comparison.analysis.families.items():
        title = f"Ranks over the tasks of the family {family}"
        yield from ranking(f"family {family} ranks", title, "tasks", ranks, looks, alpha)
