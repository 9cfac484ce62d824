"""One look per encoding, in every picture: decided by its name alone wherever that is possible."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

# Okabe and Ito's palette without yellow and black, which vanish on white and on dark ground, and two colors that stay
# apart from the six for people with any of the three kinds of color blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#963C5A", "#A05AFF")
DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "star")
GRAY = "#808080"
MARK = "#FF4B3E"  # seen on every color of a map
COLD, NEUTRAL, WARM = "#2166AC", "#F7F7F7", "#B2182B"  # below zero, zero, above

# Chosen so that the encodings which are compared by default, and two more, get eight different colors.
_SALT = 29070


@dataclass(frozen=True)
class Style:
    """Color, and what tells series apart without it."""

    color: str
    dash: str = "solid"
    marker: str = "circle"


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A style for each name. A name gets its own color unless one before it in the alphabet has the same.

    Those that find theirs taken get the next free one; when all are taken, colors come again with another dash.
    """
    waiting, given = sorted(set(names)), dict[str, Style]()
    turn = 0
    while waiting:
        taken: dict[int, str] = {}
        for name in waiting:
            taken.setdefault(_slot(name), name)
        late = [name for name in waiting if name not in taken.values()]
        for name in late[: len(PALETTE) - len(taken)]:
            taken[_free(_slot(name), taken)] = name
        for slot, name in taken.items():
            given[name] = Style(PALETTE[slot], DASHES[(slot + turn) % len(DASHES)], MARKERS[slot])
        waiting = [name for name in waiting if name not in given]
        turn += 1
    return given


def _slot(name: str) -> int:
    return hashlib.sha256(f"{_SALT}:{name}".encode("utf-8", "surrogatepass")).digest()[0] % len(PALETTE)


def _free(start: int, taken: dict[int, str]) -> int:
    return next(slot for step in range(len(PALETTE)) if (slot := (start + step) % len(PALETTE)) not in taken)
