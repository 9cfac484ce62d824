"""Algorithmic problems as text, for a share of the training stream and for evaluation.

Each kind has a range that is trained and one beyond it. Problems are rows of symbols: `copy a b c | a b c`.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Literal

import numpy as np

from ordinate.core.seeds import seed_of
from ordinate.text.corpus import Corpus

Range = Literal["in", "out"]


@dataclass(frozen=True)
class Problem:
    """What is asked, and the answer that follows."""

    question: str
    answer: str

    @property
    def text(self) -> str:
        return f"{self.question}{self.answer}\n"


@dataclass(frozen=True)
class Kind:
    """One sort of problem: how many symbols, trained and beyond; and how far away, in shares of the context."""

    make: Callable[[random.Random, int, int], Problem]  # generator, number of symbols, symbols in between
    symbols: dict[Range, tuple[int, int]]
    distance: dict[Range, tuple[float, float]] | None = None


def _letters(source: random.Random, count: int) -> list[str]:
    return [source.choice(ascii_lowercase) for _ in range(count)]


def _filler(source: random.Random, count: int) -> str:
    """Digits, which never occur in an answer of letters."""
    return " ".join(str(source.randrange(10)) for _ in range(count))


def _passkey(source: random.Random, count: int, between: int) -> Problem:
    key = " ".join(_letters(source, count))
    return Problem(f"key {key} . {_filler(source, between)} key ? ", key)


def _distant_copy(source: random.Random, count: int, between: int) -> Problem:
    text = " ".join(_letters(source, count))
    return Problem(f"keep {text} . {_filler(source, between)} again | ", text)


def _copy(source: random.Random, count: int, between: int) -> Problem:
    letters = _letters(source, count)
    return Problem(f"copy {' '.join(letters)} | ", " ".join(letters))


def _reverse(source: random.Random, count: int, between: int) -> Problem:
    letters = _letters(source, count)
    return Problem(f"reverse {' '.join(letters)} | ", " ".join(reversed(letters)))


def _sort(source: random.Random, count: int, between: int) -> Problem:
    letters = _letters(source, count)
    return Problem(f"sort {' '.join(letters)} | ", " ".join(sorted(letters)))


def _add(source: random.Random, count: int, between: int) -> Problem:
    """Digits up to 4, so that nothing is carried."""
    a, b = ([source.randrange(5) for _ in range(count)] for _ in range(2))
    shown = (" ".join(map(str, number)) for number in (a, b))
    return Problem(f"add {' + '.join(shown)} | ", " ".join(str(x + y) for x, y in zip(a, b, strict=True)))


_SYMBOLS = " 0 1 2 3 4 5 6 7 8 9"  # how many tokens a symbol takes depends on the tokenizer
_FAR: dict[Range, tuple[float, float]] = {"in": (0.25, 1.0), "out": (1.5, 2.0)}
KINDS = {
    "passkey": Kind(_passkey, {"in": (1, 5), "out": (1, 5)}, _FAR),
    "distant_copy": Kind(_distant_copy, {"in": (5, 5), "out": (5, 5)}, _FAR),
    "reverse": Kind(_reverse, {"in": (3, 8), "out": (9, 16)}),
    "sort": Kind(_sort, {"in": (3, 6), "out": (7, 10)}),
    "add": Kind(_add, {"in": (2, 5), "out": (6, 8)}),
    "copy": Kind(_copy, {"in": (4, 12), "out": (13, 20)}),
}


def draw(kind: str, source: random.Random, context: int, where: Range = "in") -> Problem:
    """One problem; `context` is the number of symbols that a trained context holds."""
    chosen = KINDS[kind]
    count = source.randint(*chosen.symbols[where])
    low, high = (0.0, 0.0) if chosen.distance is None else chosen.distance[where]
    room = 8 + 2 * count  # what stands around the filler, so that the farthest still fits
    between = max(0, int(source.uniform(low, high) * context) - room)
    return chosen.make(source, count, between)


def problem_row(corpus: Corpus, length: int, seed: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Problems one after the other, each a document, until a sequence is full; the last one is cut."""
    source = random.Random(seed_of(seed, "problems", number))
    context = length * len(_SYMBOLS) // (2 * len(corpus.encode(_SYMBOLS)))
    tokens: list[int] = []
    document_ids: list[int] = []
    while len(tokens) <= length:
        kind = source.choice(sorted(KINDS))
        made = corpus.encode(draw(kind, source, context).text)
        document_ids += [document_ids[-1] + 1 if document_ids else 0] * len(made)
        tokens += made
    return np.array(tokens[: length + 1]), np.array(document_ids[: length + 1])
