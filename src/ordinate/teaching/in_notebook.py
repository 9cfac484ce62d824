"""Blocks of a lesson in a notebook: the same functions as in the app, drawn by matplotlib."""

from importlib import import_module
from typing import Any

from ordinate.report.chart import Figure
from ordinate.report.draw_matplotlib import save
from ordinate.report.table import Table, markdown
from ordinate.teaching.check_code import check_object
from ordinate.teaching.lesson import Evidence, Exercise, Explore, Lesson, Predict, Shown, Value

WIDTH = 560  # of a figure, in pixels


def show(*things: Shown | Figure | Table | str) -> None:
    """Display sentences in Markdown, tables and figures."""
    page: Any = import_module("IPython.display")  # there wherever notebooks run, and no dependency elsewhere
    for thing in things:
        if isinstance(thing, Shown):
            show(thing.sentence, *thing.tables, *thing.figures)
        elif isinstance(thing, str):
            page.display(page.Markdown(thing))
        elif isinstance(thing, Table):
            page.display(page.Markdown(markdown(thing).replace("## ", "#### ", 1)))
        else:
            page.display(page.Image(save(thing)["png"], width=WIDTH))


def explore(lesson: Lesson, name: str, /, **values: Value) -> None:
    """What follows from these values; others are as the app begins."""
    block = lesson.block(Explore, name)
    show(block.show(**(block.defaults | values)))


def answer(lesson: Lesson, name: str) -> None:
    """Which choice is right, as measured."""
    block = lesson.block(Predict, name)
    found = block.answer()
    show(f"Measured: **{block.choices[found.right]}**.", found.shown)


def stored(lesson: Lesson, name: str) -> None:
    """What stored runs say."""
    show(lesson.block(Evidence, name).show())


def check(lesson: Lesson, name: str, thing: Any) -> None:
    """What is wrong with a solution, or that it passes."""
    show(check_object(lesson.block(Exercise, name), thing).words)
