"""Checks what a student wrote: runs it, and says in one sentence what is wrong."""

import contextlib
import io
import linecache
import traceback
from dataclasses import dataclass
from typing import Any

from ordinate.teaching.lesson import Exercise

FILE = "your code"
MOST_OUTPUT = 4000  # characters of what the code prints
PASSED = "Every check passes."


@dataclass(frozen=True)
class Checked:
    """Whether an exercise is solved, what is wrong if not, and what the code printed."""

    passed: bool
    words: str
    output: str = ""


def check_code(exercise: Exercise, code: str) -> Checked:
    """Run code and check what it defines. Whatever it raises becomes a sentence with the line of the code."""
    names: dict[str, Any] = {"__name__": "exercise"}
    output = io.StringIO()
    linecache.cache[FILE] = (len(code), None, code.splitlines(keepends=True), FILE)  # for a line in an error
    with contextlib.redirect_stdout(output):
        try:
            exec(compile(code, FILE, "exec"), names)
        except SyntaxError as error:
            return Checked(False, f"Python cannot read line {error.lineno}: {error.msg}.")
        except Exception as error:
            return Checked(False, _raised("Your code", error), _short(output))
        if exercise.defines not in names:
            return Checked(False, f"Your code does not define `{exercise.defines}`.", _short(output))
        checked = check_object(exercise, names[exercise.defines])
    return Checked(checked.passed, checked.words, _short(output))


def check_object(exercise: Exercise, thing: Any) -> Checked:
    """The same for a function or class that exists already, as in a notebook."""
    try:
        problem = exercise.check(thing)
    except Exception as error:
        problem = _raised(f"`{exercise.defines}`", error)
    return Checked(not problem, problem or PASSED)


def _raised(what: str, error: Exception) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    where = f" in line {lines[-1]}" if lines else ""
    return f"{what} raised {type(error).__name__}{where}: {str(error) or 'without a message'}"


def _short(output: io.StringIO) -> str:
    text = output.getvalue()
    return text if len(text) <= MOST_OUTPUT else f"{text[:MOST_OUTPUT]}\n... (cut)"
