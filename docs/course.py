"""The page of lessons on the site, from the lessons themselves: `python docs/website.py` writes it."""

from collections.abc import Iterator

from ordinate import lessons
from ordinate.teaching.lesson import Lesson

HEAD = """# Lessons

An interactive course on positional encoding: `ordinate app`, page **Learn**. Every number in it is computed on the page
or read from stored runs with several seeds; you predict before you see, move what there is to move, and write code that
is checked.
"""


def page() -> str:
    """One section for each lesson, in their order."""
    return "\n".join([HEAD, *(line for lesson in lessons.every() for line in _section(lesson))])


def _section(lesson: Lesson) -> Iterator[str]:
    yield f"## {lesson.number}. {lesson.title}\n\n*{lesson.question}*\n\nAfterwards you can:\n"
    yield from (f"- {goal}" for goal in lesson.goals)
    if lesson.reading:
        yield "\nTo read on:\n"
        yield from (f"- {reading.markdown}" for reading in lesson.reading)
    yield ""
