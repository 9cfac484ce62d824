"""The page of lessons: the list, every lesson, predictions, controls and exercises."""

import pytest

from ordinate import lessons
from ordinate.app import student_process
from ordinate.teaching.check_code import Checked, check_code
from ordinate.teaching.lesson import Exercise, Explore, Predict, Slider

from .conftest import draw


def words(at: object) -> str:
    parts = [*at.markdown, *at.caption, *at.success, *at.info, *at.warning, *at.error]  # type: ignore[attr-defined]
    return "\n".join(str(part.value) for part in parts)


def test_the_list_has_every_lesson() -> None:
    at = draw("learn")
    assert not at.exception and at.title[0].value == "Learn"
    assert all(lesson.title in words(at) for lesson in lessons.every())
    assert len([button for button in at.button if button.label == "Open"]) == len(lessons.every())


def test_an_unknown_lesson_is_one_sentence() -> None:
    at = draw("learn", lesson="<b>x</b>")
    assert not at.exception and "unknown lesson" in at.error[0].value


# `language` trains its models: its blocks are computed in the tests of lessons.
@pytest.mark.parametrize("name", [name for name in lessons.names() if name != "language"])
def test_every_lesson_is_drawn(name: str) -> None:
    lesson = lessons.get(name)
    at = draw("learn", lesson=name)
    assert not at.exception and not at.error
    assert lesson.title in at.title[0].value
    shown = words(at)
    assert lesson.question in shown and "arxiv.org" in shown
    assert len(at.text_area) == len(lesson.named(Exercise))
    assert len(at.radio) == len(lesson.named(Predict))
    assert all(radio.value is None for radio in at.radio)  # nothing is given away
    sliders = [c for block in lesson.named(Explore).values() for c in block.controls if isinstance(c, Slider)]
    assert len(at.slider) == len(sliders)


def test_a_prediction_shows_the_measurement_only_after_it() -> None:
    at = draw("learn", lesson="order")
    assert "As measured" not in words(at) and "Measured:" not in words(at)
    at.radio(key="order-bag").set_value("1").run()
    assert "As measured: **the same for both**" in words(at) and not at.exception
    at.radio(key="order-bag").set_value("2").run()
    assert "Measured: **the same for both**" in words(at)


def test_a_control_changes_what_is_computed() -> None:
    at = draw("learn", lesson="order")
    assert "the same set of vectors" in words(at)
    at.selectbox(key="order-vectors-encoding").set_value("sinusoidal").run()
    assert "The sets **differ**" in words(at) and not at.exception


def test_an_exercise_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the server's place: the process of its own has its own test."""
    exercise = lessons.get("order").block(Exercise, "mean")

    def run(lesson: str, name: str, code: str) -> Checked:
        return check_code(lessons.get(lesson).block(Exercise, name), code)

    monkeypatch.setattr(student_process, "run", run)
    at = draw("learn", lesson="order")
    at.text_area(key="code-order-mean").set_value(exercise.wrong)
    at.button(key="check-order-mean").click().run()
    assert "first word sees only itself" in words(at).replace("\\", "")
    at.text_area(key="code-order-mean").set_value(exercise.solution)
    at.button(key="check-order-mean").click().run()
    assert "Every check passes" in words(at) and not at.exception


def test_code_never_comes_from_the_address() -> None:
    at = draw("learn", lesson="order", **{"code-order-mean": "import os"})
    assert at.text_area(key="code-order-mean").value == lessons.get("order").block(Exercise, "mean").starter
