"""The exception for bad input, with three subclasses that callers catch, and its words."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from ordinate.core.display import escaped

LONGEST_WORD, LONGEST_SENTENCE = 400, 2000  # characters shown of a longer text


class InputError(ValueError):
    """Bad input, in one sentence: what was requested, what was found, what to do. The program exits with code 2."""

    def __init__(self, sentence: str) -> None:
        super().__init__(brief(sentence))


class OtherVersionError(InputError):
    """A file that another version of this program wrote; it is not damaged."""


class AxesError(InputError):
    """An encoding was given positions with more or fewer axes than it reads."""


class CausalError(InputError):
    """An encoding that is defined for causal attention alone was created for bidirectional attention."""


class PluginWarning(UserWarning):
    """A plug-in that is ignored, in one sentence."""


def error_text(error: BaseException) -> str:
    """The message shown to users: the sentence of an InputError, or the file and the system's error."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename} cannot be used: {error.strerror}" if error.filename else error.strerror
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


@contextmanager
def plugin_errors(problem: str) -> Iterator[None]:
    """Turn the exception of a faulty plug-in into an InputError that begins with `problem`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{problem}: {error_text(error)}") from error


def brief(sentence: str) -> str:
    """A sentence on one line, without the middle of what is too long: a bad value may have a million characters."""
    line = escaped(" ".join(part.strip() for part in sentence.splitlines()))
    words = re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: _cut(word[0], LONGEST_WORD), line)
    return _cut(words, LONGEST_SENTENCE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest * 3 // 4]} … {text[-longest // 5 :]}"


def nearest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of an error about an unknown word: the closest known ones, `otherwise`, or all of them."""
    known = sorted(known)
    lower = {name.lower(): name for name in known}
    close = [lower[match] for match in get_close_matches(word.lower()[:LONGEST_WORD], lower, n=3, cutoff=0.6)]
    if close:
        return f"did you mean {' or '.join(close)}?"
    return otherwise or (f"known: {', '.join(known)}" if known else "it takes none")
