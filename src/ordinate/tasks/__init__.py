"""Tasks by name. Each lives in one file of this folder, or in a plug-in's entry point."""

import inspect
import sys
from typing import Any

from ordinate.core.errors import InputError
from ordinate.core.parsing import parse_choice
from ordinate.core.registry import Registry
from ordinate.core.task import Task

registry: Registry[Task] = Registry("task", Task, sys.modules[__name__], "ordinate.tasks")  # type: ignore[type-abstract]


def names() -> list[str]:
    """The names of all tasks."""
    return registry.names()


def create(name: str, **parameters: Any) -> Task:
    """A task, ready to draw from; `ordinate show NAME` lists the parameters."""
    return registry.make(name, **registry.checked(name, parameters))


def parse(text: str) -> tuple[str, Task]:
    """A task as people write it, `k_back` or `k_back(k=5, mode=match)`: its one canonical text, and the task."""
    choices = parse_choice(text)
    if len(choices) != 1:
        raise InputError(f"one task at a time, got {text!r}")
    return registry.canonical(choices[0]), create(choices[0].name, **dict(choices[0].parameters))


def describe(name: str) -> dict[str, Any]:
    """All that a task's file says about it, as plain data; `k_back(k=5)` describes it with these parameters."""
    name, task = parse(name)
    tokens, trained = task.example(), task.train_lengths[1]
    tested = [trained, *task.beyond(trained)]
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
        "steps": task.most_steps,
        "control": task.control,
        "evaluation_lengths": tested,
        "chance": {length: task.chance(length) for length in tested},
        "needs_order": task.needs_order,
        "splits": list(task.splits),
        "dataset": task.dataset,
        "parameters": [parameter.as_dict() for parameter in registry.parameters(parse_choice(name)[0].name).values()],
    }
