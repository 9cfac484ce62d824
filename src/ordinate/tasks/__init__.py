"""Tasks by name. Each lives in one file of this folder, or in a plug-in's entry point."""

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
