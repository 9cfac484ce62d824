"""A lesson as a jupytext percent script: what the app shows, cell by cell."""

from collections.abc import Iterator

from ordinate.teaching.lesson import Block, Evidence, Exercise, Explore, Lesson, Predict, Prose

HEADER = """# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---
"""


def percent_script(lesson: Lesson) -> str:
    """The whole lesson."""
    goals = "\n".join(f"- {goal}" for goal in lesson.goals)
    first = f"# {lesson.number} · {lesson.title}\n\n*{lesson.question}*\n\nAfterwards you can\n\n{goals}"
    setup = (
        "from ordinate import lessons\n"
        "from ordinate.teaching.in_notebook import answer, check, explore, stored\n\n"
        f"lesson = lessons.get({lesson.name!r})"
    )
    reading = "## Read on\n\n" + "\n".join(f"- {paper.markdown}" for paper in lesson.reading)
    cells = [text(first), code(setup), *(cell for block in lesson.blocks for cell in _cells(block)), text(reading)]
    return HEADER + "\n" + "\n\n".join(cells) + "\n"


def text(markdown: str) -> str:
    """A cell of prose."""
    lines = (f"# {line}".rstrip() for line in markdown.split("\n"))
    return "# %% [markdown]\n" + "\n".join(lines)


def code(source: str) -> str:
    """A cell of code."""
    return f"# %%\n{source.rstrip()}"


def _cells(block: Block) -> Iterator[str]:
    match block:
        case Prose():
            yield text(block.markdown + (f"\n\n```python\n{block.code.rstrip()}\n```" if block.code else ""))
        case Predict():
            choices = "\n".join(f"- {choice}" for choice in block.choices)
            yield text(f"**Predict.** {block.question}\n\n{choices}\n\nDecide before you run the next cell.")
            yield code(f"answer(lesson, {block.name!r})")
        case Explore():
            given = "".join(f", {control.name}={control.value!r}" for control in block.controls)
            yield text(f"**Move.** {block.invitation} Change the values and run the cell again.")
            yield code(f"explore(lesson, {block.name!r}{given})")
        case Evidence():
            yield text(f"**Stored runs.** {block.question}")
            yield code(f"stored(lesson, {block.name!r})")
        case Exercise():
            kind = "" if block.kind == "debug" else "**Write.** "
            yield text(f"{kind}{block.prompt}")
            yield code(block.starter)
            yield code(f"check(lesson, {block.name!r}, {block.defines})")
