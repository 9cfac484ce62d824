"""The page of lessons on the site, from the lessons themselves: `python docs/website.py` writes it."""

import re
from collections.abc import Iterator
from pathlib import Path

from ordinate import lessons
from ordinate.teaching.lesson import Lesson

HEAD = """# Lessons

An interactive course on positional encoding: `ordinate app`, page **Learn**. Every number in it is computed on the page
or read from stored runs with several seeds; you predict before you see, move what there is to move, and write code that
is checked. `make notebooks` writes and runs each lesson as a notebook in `notebooks/lessons`, and these in `notebooks`:

{notebooks}
"""
NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def page() -> str:
    """One section for each lesson, in their order."""
    listed = "\n".join(f"- {_title(path)} (`{path.stem}`)" for path in sorted(NOTEBOOKS.glob("*.py")))
    return "\n".join(
        [HEAD.format(notebooks=listed), *(line for lesson in lessons.every() for line in _section(lesson))]
    )


def _title(notebook: Path) -> str:
    (title, *_) = re.findall(r"^# # (.+)$", notebook.read_text(encoding="utf-8"), re.MULTILINE)
    return str(title)


def _section(lesson: Lesson) -> Iterator[str]:
    yield f"## {lesson.number}. {lesson.title}\n\n*{lesson.question}*\n\nAfterwards you can:\n"
    yield from (f"- {goal}" for goal in lesson.goals)
    if lesson.reading:
        yield "\nTo read on:\n"
        yield from (f"- {reading.markdown}" for reading in lesson.reading)
    yield ""
