"""Tasks by name. Each lives in one file of this folder, or in a plug-in's entry point."""

import inspect
import sys
from typing import Any

from ordinate.core.registry import Registry
from ordinate.core.task import Task

registry: Registry[Task] = Registry("task", Task, sys.modules[__name__], "ordinate.tasks")  # type: ignore[type-abstract]


def names() -> list[str]:
    """The names of all tasks."""
    return registry.names()


def create(name: str, **parameters: Any) -> Task:
    """A task, ready to draw from; `ordinate show NAME` lists the parameters."""
    return registry.get(name)(**registry.checked(name, parameters))


def describe(name: str) -> dict[str, Any]:
    """All that a task's file says about it, as plain data."""
    task = create(name)
    tokens = task.example()
    return {
        "name": name,
        "family": task.family,
        "words": " ".join(inspect.cleandoc(type(task).__doc__ or "").split()),
        "example": task.show(tokens, task.solve(tokens)),
        "form": task.form,
        "readout": task.readout,
        "metric": task.metric,
        "bar": None if task.metric == "loss" else task.bar,
        "vocabulary": task.vocabulary,
        "classes": task.classes,
        "axes": task.axes,
        "train_lengths": list(task.train_lengths),
        "evaluation_lengths": list(task.evaluation_lengths),
        "chance": {length: task.chance(length) for length in task.evaluation_lengths},
        "needs_order": task.needs_order,
        "splits": list(task.splits),
        "dataset": task.dataset,
        "parameters": [parameter.as_dict() for parameter in registry.parameters(name).values()],
    }
