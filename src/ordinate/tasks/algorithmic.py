"""Algorithmic problems that can also be written as lines of text, for language models."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Annotated, Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ordinate.core.parameters import Param
from ordinate.core.task import UNSCORED, Batch, Task

ProblemKind = Literal["copy", "reverse", "sort", "add", "passkey", "distant_copy"]
KINDS: tuple[ProblemKind, ...] = get_args(ProblemKind)
MIXED: tuple[ProblemKind, ...] = ("copy", "reverse", "sort")  # of one form, so that a batch may hold all of them
WORDS = (*ascii_lowercase, *"0123456789", *"|.?+", "copy", "reverse", "sort", "add", "key", "keep", "again")
IDS = {word: number for number, word in enumerate(WORDS)}
RECALLED = 5  # symbols that are recalled over a distance


class ProblemLine(NamedTuple):
    """A problem as text: `reverse a b c | ` and `c b a`."""

    question: str
    answer: str

    @property
    def text(self) -> str:
        return f"{self.question}{self.answer}\n"


Writer = Callable[[random.Random, int, int], ProblemLine]  # number of symbols, and of filler before the answer


@dataclass(frozen=True)
class ProblemRule:
    """One kind of problem; ranges are of what is trained, and of what is tested beyond."""

    write: Writer
    solve: Callable[[list[str], int], list[str]]  # from the question's words and the number of symbols
    symbols: tuple[tuple[int, int], tuple[int, int]]
    distance: tuple[tuple[float, float], tuple[float, float]] | None = None  # in shares of a context


def _letters(source: random.Random, count: int) -> list[str]:
    return [source.choice(ascii_lowercase) for _ in range(count)]


def _list_problem(name: str, solve: Callable[[list[str]], list[str]]) -> Writer:
    def write(source: random.Random, count: int, filler: int) -> ProblemLine:
        letters = _letters(source, count)
        return ProblemLine(f"{name} {' '.join(letters)} | ", " ".join(solve(letters)))

    return write


def _recall(before: str, after: str) -> Writer:
    def write(source: random.Random, count: int, filler: int) -> ProblemLine:
        key = " ".join(_letters(source, count))
        return ProblemLine(f"{before} {key} . {_filler(source, filler)} {after} ", key)

    return write


def _filler(source: random.Random, count: int) -> str:
    """Digits, which never occur in an answer of letters."""
    return " ".join(str(source.randrange(10)) for _ in range(count))


def passkey_at_depth(source: random.Random, count: int, before: int, after: int) -> ProblemLine:
    """A passkey that stands between two parts of the filler: `7 3 key a b . 1 4 9 key ? ` and `a b`."""
    line = PROBLEMS["passkey"].write(source, count, after)
    return line if not before else ProblemLine(f"{_filler(source, before)} {line.question}", line.answer)


def _add(source: random.Random, count: int, filler: int) -> ProblemLine:
    """Digits up to 4, so that there is no carry."""
    a, b = ([source.randrange(5) for _ in range(count)] for _ in range(2))
    shown = (" ".join(map(str, number)) for number in (a, b))
    return ProblemLine(f"add {' + '.join(shown)} | ", " ".join(str(x + y) for x, y in zip(a, b, strict=True)))


def _sums(question: list[str], count: int) -> list[str]:
    return [str(int(question[i]) + int(question[i + count + 1])) for i in range(1, count + 1)]


_FAR = ((0.25, 1.0), (1.5, 2.0))
PROBLEMS: dict[ProblemKind, ProblemRule] = {
    "copy": ProblemRule(_list_problem("copy", list), lambda q, n: q[1 : n + 1], ((4, 12), (13, 20))),
    "reverse": ProblemRule(_list_problem("reverse", lambda x: x[::-1]), lambda q, n: q[n:0:-1], ((3, 8), (9, 16))),
    "sort": ProblemRule(_list_problem("sort", sorted), lambda q, n: sorted(q[1 : n + 1]), ((3, 6), (7, 10))),
    "add": ProblemRule(_add, _sums, ((2, 5), (6, 8))),
    "passkey": ProblemRule(_recall("key", "key ?"), lambda q, n: q[1 : n + 1], ((1, 5), (1, 5)), _FAR),
    "distant_copy": ProblemRule(_recall("keep", "again |"), lambda q, n: q[1 : n + 1], ((5, 5), (5, 5)), _FAR),
}


def draw_line(kind: ProblemKind, source: random.Random, context: int, *, beyond: bool = False) -> ProblemLine:
    """One problem of a size that is trained, or beyond; `context` is the number of symbols in a trained context."""
    rule = PROBLEMS[kind]
    count = source.randint(*rule.symbols[beyond])
    low, high = (0.0, 0.0) if rule.distance is None else rule.distance[beyond]
    room = 8 + 2 * count  # around the filler, so that the farthest still fits
    filler = max(0, int(source.uniform(low, high) * context) - room)
    return rule.write(source, count, filler)


def _any(source: random.Random, count: int, filler: int) -> ProblemLine:
    return PROBLEMS[source.choice(MIXED)].write(source, count, filler)


def _solve_any(question: list[str], count: int) -> list[str]:
    """The first word tells which problem it is."""
    return next(PROBLEMS[kind].solve(question, count) for kind in MIXED if kind == question[0])


ANY = ProblemRule(_any, _solve_any, PROBLEMS["sort"].symbols)


class Algorithmic(Task):
    """Copy, reverse or sort letters, add digits without a carry, or recall letters over a distance. Each word is a
    token, and the answer follows the question: reverse a b c | c b -> . . . . c b a. A language model can be trained
    on the same problems as text; mixed: one model learns to copy, reverse and sort."""

    family = "copying"
    variants = tuple({"kind": kind} for kind in (*KINDS[1:], "mixed"))

    def __init__(
        self,
        *,
        kind: Annotated[
            Literal["copy", "reverse", "sort", "add", "passkey", "distant_copy", "mixed"],
            Param("what to do; passkey and distant_copy: the length is the distance, not the number of letters"),
        ] = "copy",
    ) -> None:
        self.kind, self.rule = kind, ANY if kind == "mixed" else PROBLEMS[kind]
        self.distant = self.rule.distance is not None
        trained, beyond = self.rule.symbols
        super().__init__(
            vocabulary=len(WORDS), classes=len(WORDS), metric="exact", most_steps=3000,
            train_lengths=(8, 32) if self.distant else trained,
            longer=None if self.distant else (beyond[0], beyond[1]),
            specials=dict(enumerate(WORDS)),
        )  # fmt: skip

    def _sizes(self, length: int) -> tuple[int, int]:
        """Symbols of the answer, and of the filler."""
        return (RECALLED, length) if self.distant else (length, 0)

    def sides(self, length: int) -> tuple[int, ...]:
        """All words but the last, which is only an answer."""
        if self.distant:
            return (length + 2 * RECALLED + 3,)
        return (3 * length + 2 if self.kind == "add" else 2 * length + 1,)

    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        source = random.Random(int(torch.randint(2**62, (1,), generator=generator)))
        size, filler = self._sizes(length)
        lines = (self.rule.write(source, size, filler).text.split() for _ in range(count))
        words = torch.tensor([[IDS[word] for word in line] for line in lines])
        targets = words[:, 1:].clone()
        targets[:, :-size] = UNSCORED
        return Batch(words[:, :-1].contiguous(), targets)

    def chance(self, length: int, split: str = "id") -> float:
        """The most frequent answer: any list of letters, one of different letters in order, or a sum of 4s."""
        size, _ = self._sizes(length)
        if self.kind == "add":
            return 5.0**-size
        orders = math.factorial(size) if size <= 26 else 1  # of different letters, which all are sorted alike
        return {"sort": orders, "mixed": (2 + orders) / len(MIXED)}.get(self.kind, 1) * 26.0**-size

    def groups(self, tokens: Int[Tensor, "b n"], targets: Int[Tensor, "b n"]) -> dict[str, Bool[Tensor, "b n"]]:
        found = super().groups(tokens, targets)
        parts = MIXED if self.kind == "mixed" else ()
        return found | {kind: found["all"] & (tokens[:, :1] == IDS[kind]) for kind in parts}

    def solve(self, tokens: list[int]) -> list[int]:
        words = [WORDS[token] for token in tokens]
        end = words.index("?" if self.kind == "passkey" else "|")
        answer = self.rule.solve(words, len(words) - end)
        return [UNSCORED] * end + [IDS[word] for word in answer]

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        """Where the next symbol of the answer stands in the question: all equal letters of a sorted list, both digits
        of a sum."""
        words = [WORDS[token] for token in tokens]
        end = words.index("?" if self.kind == "passkey" else "|")
        size, kind = len(words) - end, words[0] if self.kind == "mixed" else self.kind
        found: list[tuple[int, ...]] = [()] * end
        for step, symbol in enumerate(self.rule.solve(words, size)):
            if kind == "reverse":
                found.append((size - step,))
            elif kind == "sort":
                found.append(tuple(t for t in range(1, end) if words[t] == symbol))
            elif kind == "add":
                found.append((1 + step, size + 2 + step))
            else:
                found.append((1 + step,))
        return found

    def example(self) -> list[int]:
        line = self.rule.write(random.Random(0), 3, 3)
        return [IDS[word] for word in line.text.split()[:-1]]

    def answer(self, target: int) -> str:
        return self.word(target)
