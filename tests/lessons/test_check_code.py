"""Code of students: whatever it does, a sentence comes back."""

import pytest

from ordinate import lessons
from ordinate.app import student_process
from ordinate.teaching.check_code import PASSED, check_code
from ordinate.teaching.lesson import Exercise

MEAN = lessons.get("order").block(Exercise, "mean")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def causal_mean(values:\n    pass", "Python cannot read line 1"),
        ("x = 1", "does not define `causal_mean`"),
        ("causal_mean = 3", "`causal_mean` raised Type"),
        ("def causal_mean(values):\n    x = 1\n    return values / nothing", "raised NameError in line 3"),
        ("1 / 0", "Your code raised ZeroDivisionError in line 1"),
        ("def causal_mean(values):\n    return values[:2]", "must have that shape, got (2, 4)"),
        ("def causal_mean(values):\n    return values.flip(0).cumsum(0).flip(0)", "first word sees only itself"),
    ],
)
def test_what_is_wrong_is_one_sentence(code: str, words: str) -> None:
    checked = check_code(MEAN, code)
    assert not checked.passed and words in checked.words


def test_what_the_code_prints_is_shown_and_cut() -> None:
    checked = check_code(MEAN, "print('here')\n" + MEAN.solution)
    assert checked.passed and checked.output == "here\n"
    assert len(check_code(MEAN, "print('x' * 100_000)").output) < 5000


@pytest.mark.slow
def test_code_runs_in_a_process_with_a_time_limit() -> None:
    """An endless loop, an exit and a death end there, and a right answer passes."""
    run = student_process.run
    assert run("order", "mean", MEAN.solution).words == PASSED
    lines = ["while True:", "    try:", "        pass", "    except Exception:", "        pass"]
    endless = "def causal_mean(values):\n" + "\n".join(f"    {line}" for line in lines)
    assert "did not end within 1 seconds" in run("order", "mean", endless, seconds=1).words
    assert "ended the process" in run("order", "mean", "raise SystemExit").words
    assert "ended with code" in run("order", "mean", "import os\nos._exit(3)").words
