"""The exception that means "the caller asked for something that cannot be done"; three kinds of it can be caught."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input, in one sentence: what was asked, what was found, what to do. The program then exits with 2."""


class OtherVersionError(InputError):
    """Something that another version of this program wrote: nothing is wrong with it."""


class AxesError(InputError):
    """An encoding was given positions with more or fewer axes than it reads."""


class CausalError(InputError):
    """An encoding that is defined for causal attention alone was asked to look both ways."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown word: the closest known ones, or all of them."""
    known = sorted(known)
    lower = {name.lower(): name for name in known}
    close = [lower[match] for match in get_close_matches(word.lower(), lower, n=3, cutoff=0.6)]
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(known)}" if known else "it takes none"
