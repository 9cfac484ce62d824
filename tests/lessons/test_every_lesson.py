"""Every lesson: all its blocks are computed, its exercises tell right from wrong, and one file is all that it takes."""

import re
from itertools import pairwise

import jupytext
import pytest

from ordinate import lessons
from ordinate.core.errors import InputError
from ordinate.report.draw_matplotlib import save
from ordinate.report.draw_plotly import draw
from ordinate.report.table import markdown
from ordinate.teaching.check_code import check_code
from ordinate.teaching.lesson import Evidence, Exercise, Explore, Lesson, Predict, Prose, Shown
from ordinate.teaching.notebook import percent_script

NAMES = lessons.names()
TRAINS = ("language",)  # a model for each choice: the ends of its picker alone


def looks_right(shown: Shown) -> None:
    """There is something to see, and both renderers can draw it."""
    assert shown.sentence
    assert not re.search(r"\bnan\b|\binf\b|\{\w+\}", shown.sentence), shown.sentence
    for table in shown.tables:
        assert table.rows and all(len(row) == len(table.columns) for row in table.rows)
        assert markdown(table)
    for figure in shown.figures:
        assert draw(figure)["data"]


def blocks(kind: type) -> list[tuple[str, str]]:
    return [(lesson.name, name) for lesson in lessons.every() for name in lesson.named(kind)]


def test_lessons_come_in_order() -> None:
    numbers = [lesson.number for lesson in lessons.every()]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 10


def test_an_unknown_lesson_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown lesson 'ordr': did you mean order"):
        lessons.get("ordr")


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_has_all_its_parts(name: str) -> None:
    lesson = lessons.get(name)
    assert len(lesson.goals) >= 2 and len(lesson.reading) >= 2 and lesson.question.endswith("?")
    for kind in (Predict, Explore, Evidence):
        assert lesson.named(kind), f"{name} has no {kind.__name__}"
    kinds = [exercise.kind for exercise in lesson.named(Exercise).values()]
    assert "write" in kinds and "debug" in kinds
    named = [block.name for block in lesson.blocks if not isinstance(block, Prose)]
    assert len(set(named)) == len(named)  # they are keys in the address
    assert all(re.fullmatch(r"\d{4}\.\d{4,5}", reading.arxiv) for reading in lesson.reading)


@pytest.mark.parametrize(("lesson", "name"), blocks(Predict))
def test_predictions_are_measured(lesson: str, name: str) -> None:
    block = lessons.get(lesson).block(Predict, name)
    found = block.answer()
    assert len(set(block.choices)) == len(block.choices) >= 2
    assert 0 <= found.right < len(block.choices)
    looks_right(found.shown)


@pytest.mark.parametrize(("lesson", "name"), blocks(Explore))
def test_controls_can_be_moved_to_their_ends(lesson: str, name: str) -> None:
    block = lessons.get(lesson).block(Explore, name)
    looks_right(block.show(**block.defaults))
    for control in block.controls:
        assert control.value in control.ends or control.ends[0] <= control.value <= control.ends[1]  # type: ignore[operator]
        ends = (control.ends[0], control.ends[-1]) if lesson in TRAINS else control.ends
        for end in ends:
            looks_right(block.show(**(block.defaults | {control.name: end})))
    everything = ({control.name: control.ends[side] for control in block.controls} for side in (0, -1))
    for values in everything:
        looks_right(block.show(**values))


@pytest.mark.parametrize(("lesson", "name"), blocks(Evidence))
def test_stored_runs_are_read(lesson: str, name: str) -> None:
    shown = lessons.get(lesson).block(Evidence, name).show()
    looks_right(shown)
    assert "stored" in shown.sentence


def test_a_figure_of_each_lesson_is_drawn_for_print() -> None:
    for lesson in lessons.every():
        for block in lesson.named(Explore).values():
            shown = block.show(**block.defaults)
            if shown.figures:
                assert save(shown.figures[0])["png"]
                break


@pytest.mark.parametrize(("lesson", "name"), blocks(Exercise))
def test_an_exercise_tells_right_from_wrong(lesson: str, name: str) -> None:
    exercise = lessons.get(lesson).block(Exercise, name)
    right = check_code(exercise, exercise.solution)
    assert right.passed, right.words
    wrong = exercise.wrong or exercise.starter
    assert exercise.wrong or exercise.kind == "debug", "a typical wrong answer is missing"
    for code in {wrong, exercise.starter}:
        checked = check_code(exercise, code)
        assert not checked.passed
        assert len(checked.words.split()) >= 5, checked.words  # a sentence that helps
    checked = check_code(exercise, wrong)
    assert "raised" not in checked.words, checked.words  # said by the check, not by Python


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_a_notebook_too(name: str) -> None:
    """Every block has its cell."""
    lesson: Lesson = lessons.get(name)
    cells = jupytext.reads(percent_script(lesson), fmt="py:percent").cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert len(code) == 1 + sum(
        2 if isinstance(block, Exercise) else not isinstance(block, Prose) for block in lesson.blocks
    )
    for source in code:
        compile(source, name, "exec")
    prose = " ".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert lesson.question in prose and all(reading.arxiv in prose for reading in lesson.reading)


def test_numbers_in_prose_are_few() -> None:
    """Results are computed or read, never typed: prose has no decimals but in formulas."""
    for lesson in lessons.every():
        for block in lesson.blocks:
            if isinstance(block, Prose):
                plain = re.sub(r"\$[^$]*\$", "", block.markdown)
                assert not re.findall(r"\b0\.\d{2,}\b", plain.replace("0.01", "")), plain
    assert all(one.number < other.number for one, other in pairwise(lessons.every()))
