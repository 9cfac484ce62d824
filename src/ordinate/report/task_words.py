"""A task as a stranger would want it explained."""

import inspect
from dataclasses import dataclass

from ordinate.core.errors import InputError
from ordinate.results.comparison import Comparison


@dataclass(frozen=True)
class TaskWords:
    """What a task asks for, and a problem that is small enough to be read, with its answer."""

    words: str
    example: str
    control: str  # why no model should learn it, if so


def words_of_tasks(comparison: Comparison) -> dict[str, TaskWords]:
    """By task; a file of results may name its own tasks as it likes."""
    named = [task.task for task in comparison.analysis.tasks] if comparison.runs else []
    return {name: words for name in named if (words := task_words(name)) is not None}


def task_words(task: str) -> TaskWords | None:
    """None if this program does not know the task."""
    from ordinate import tasks

    try:
        known = tasks.parse(task)[1]
    except InputError:
        return None
    tokens = known.example()
    words = " ".join(inspect.cleandoc(type(known).__doc__ or "").split())
    return TaskWords(words, known.show(tokens, known.solve(tokens)), known.control)
