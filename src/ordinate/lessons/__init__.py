"""Lessons by name. Each lives in one file of this folder, which defines `LESSON`."""

import importlib
import pkgutil
from dataclasses import replace
from functools import cache

from ordinate.core.errors import InputError, nearest
from ordinate.teaching.lesson import Lesson


@cache
def every() -> tuple[Lesson, ...]:
    """All lessons, in the order in which they are taken."""
    return tuple(sorted((_load(item.name) for item in pkgutil.iter_modules(__path__)), key=lambda each: each.number))


def names() -> list[str]:
    """Their names, in this order."""
    return [lesson.name for lesson in every()]


def get(name: str) -> Lesson:
    """The lesson with this name."""
    known = {lesson.name: lesson for lesson in every()}
    if name not in known:
        raise InputError(f"unknown lesson {name!r}: {nearest(name, known)}")
    return known[name]


def _load(name: str) -> Lesson:
    lesson: Lesson = importlib.import_module(f"{__name__}.{name}").LESSON
    return replace(lesson, name=name)
