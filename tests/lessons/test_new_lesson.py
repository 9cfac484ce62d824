"""A new lesson is one file: it is listed, drawn on the page, and a notebook, and nothing else has to change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ordinate import lessons
from ordinate.teaching.check_code import check_code
from ordinate.teaching.lesson import Exercise, Explore
from ordinate.teaching.notebook import percent_script

FILE = '''"""A lesson of a test: how far apart two positions are."""

from ordinate.teaching.charts import curves
from ordinate.teaching.lesson import Exercise, Explore, FurtherReading, Lesson, Prose, Shown, Slider


def show(length: int) -> Shown:
    return Shown(f"The farthest is **{length - 1}**.", (curves("Distance", "key", "distance", {"d": range(length)}),))


def check(function) -> str:
    return "" if function(7, 3) == 4 else f"From 3 to 7 it is 4, got {function(7, 3)}."


LESSON = Lesson(
    number=99,
    title="Distance",
    question="How far?",
    goals=("subtract",),
    blocks=(
        Prose("Positions are numbers."),
        Explore("far", "Move.", (Slider("length", "Length", 2, 8, 4),), show),
        Exercise("subtract", "Write it.", "distance", "def distance(i, j):\\n    ...\\n", check,
                 solution="def distance(i, j):\\n    return i - j\\n"),
    ),
    reading=(FurtherReading("Somebody 2020", "2001.00001", "subtraction"),),
)
'''


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "distance_of_a_test.py").write_text(FILE)
    monkeypatch.setattr(lessons, "__path__", [*lessons.__path__, str(tmp_path)])
    lessons.every.cache_clear()
    yield
    lessons.every.cache_clear()


@pytest.mark.usefixtures("added")
def test_one_file_is_a_lesson() -> None:
    assert lessons.names()[-1] == "distance_of_a_test"
    lesson = lessons.get("distance_of_a_test")
    assert lesson.block(Explore, "far").show(length=8).sentence == "The farthest is **7**."
    exercise = lesson.block(Exercise, "subtract")
    assert check_code(exercise, exercise.solution).passed
    assert check_code(exercise, exercise.starter).words == "From 3 to 7 it is 4, got None."
    assert "explore(lesson, 'far', length=4)" in percent_script(lesson)
