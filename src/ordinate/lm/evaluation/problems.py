"""Algorithmic problems as text, scored without generation: an answer is right if every token of it is the likeliest,
which is when greedy decoding would give it."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from ordinate.core.seeds import seed_of
from ordinate.lm.evaluation.config import FILLERS, PasskeyConfig, ProblemConfig
from ordinate.lm.evaluation.scorer import Scorer, WindowedText
from ordinate.lm.evaluation.windows import Window
from ordinate.lm.stream import symbols_that_fit
from ordinate.results.lm_evaluation import PasskeyCell, ProblemRange, ProblemRow
from ordinate.tasks.algorithmic import PROBLEMS, Algorithmic, ProblemKind, ProblemLine, draw_line, passkey_at_depth
from ordinate.text.corpus import Corpus
from ordinate.text.tokenizer import END_ID

RANGES: tuple[ProblemRange, ...] = ("in range", "out of range")
LETTERS, SUMS = "abcdefghijklmnopqrstuvwxyz", "012345678"  # what answers are made of; sums of two digits up to 4
ROOM = 20  # symbols of a passkey problem beside its filler and its key, at most
Watch = Callable[[str], None]


@dataclass(frozen=True)
class AnswerScore:
    """Sums over problems; the longest of them in tokens; and why there is no score."""

    exact: int
    symbols: int
    right: int
    loss: float
    longest: int
    reason: str = ""


class AnswerScorer:
    """Turns problems into tokens and scores their answers with a model."""

    def __init__(self, scorer: Scorer, corpus: Corpus) -> None:
        self.scorer, self.corpus, self.sizes = scorer, corpus, corpus.token_bytes()

    def score(self, problems: Sequence[tuple[str, ProblemLine]]) -> AnswerScore:
        """Problems, each with the text before it."""
        pieces = [self.piece(before, line) for before, line in problems]
        return self.score_pieces(pieces, [line.answer for _, line in problems])

    def score_pieces(self, pieces: Sequence[WindowedText], wanted: Sequence[str]) -> AnswerScore:
        """Tokens whose last ones are the wanted answers."""
        longest = max(piece.window.context for piece in pieces)
        if reason := self.scorer.refusal(longest):
            return AnswerScore(0, 0, 0, 0.0, longest, reason)
        exact, symbols, right, loss = 0, 0, 0, 0.0
        found = self.scorer.answers(pieces, self._choices(wanted[0]))
        for answer, piece, (losses, best, among) in zip(wanted, pieces, found, strict=True):
            starts = self._symbol_starts(piece, answer)
            exact += bool(best.all())
            symbols += len(starts)
            right += int(np.logical_and.reduceat(among, starts).sum())
            loss += float(losses.sum())
        return AnswerScore(exact, symbols, right, loss, longest)

    def piece(self, before: str, line: ProblemLine) -> WindowedText:
        """The tokens of a problem; the scored ones are those that reach into its answer."""
        tokens = np.array(self.corpus.encode(f"{before}{line.question}{line.answer}"))
        ends = np.cumsum(self.sizes[tokens])  # in bytes
        scored = int((ends > len(f"{before}{line.question}".encode())).sum())
        return WindowedText(tokens, Window(0, len(tokens), scored))

    def _symbol_starts(self, piece: WindowedText, answer: str) -> list[int]:
        """The first token of every symbol of an answer such as `c b a`: symbol i ends after 2i + 1 bytes of it."""
        ends = np.cumsum(self.sizes[piece.read[-piece.window.scored :]])
        symbols = (len(answer) - ends[-1] + ends) // 2
        return [0, *(np.flatnonzero(np.diff(symbols)) + 1).tolist()]

    def _choices(self, answer: str) -> Bool[Tensor, " v"]:
        """The tokens that answers of this kind are made of."""
        chosen = torch.zeros(self.scorer.trained.config.model.vocabulary, dtype=torch.bool)
        chosen[self.corpus.encode(" " + " ".join(SUMS if answer[0].isdigit() else LETTERS))[1:]] = True
        return chosen


def evaluate_problems(
    scorer: Scorer, config: ProblemConfig, corpus: Corpus, seed: int, watch: Watch
) -> list[ProblemRow]:
    """Every kind of problem, in range and out of range, without and with solved problems before it."""
    answers, rows = AnswerScorer(scorer, corpus), []
    context = symbols_that_fit(corpus, scorer.trained.config.model.length)
    for kind in (kind for kind in PROBLEMS if kind in config.kinds):
        for beyond, name in enumerate(RANGES):
            for shots in config.shots:
                watch(f"{kind}, {name}, {shots} solved before")
                source = random.Random(seed_of(seed, "eval problems", kind, name, shots))
                drawn = [_draw(kind, source, context, shots, beyond=bool(beyond)) for _ in range(config.count)]
                score = answers.score(drawn)
                counts = [len(line.answer.split()) for _, line in drawn]
                rows.append(
                    ProblemRow(
                        kind, name, shots, config.count, score.exact, score.symbols, score.right, score.loss,
                        sum(chance_exact(kind, n) for n in counts) / len(counts),
                        sum(n * chance_symbol(kind, n) for n in counts) / sum(counts), score.longest, score.reason,
                    )
                )  # fmt: skip
    return rows


def _draw(
    kind: ProblemKind, source: random.Random, context: int, shots: int, *, beyond: bool
) -> tuple[str, ProblemLine]:
    """A problem with solved ones before it, all of which take a quarter of the context if they hold filler."""
    short = context // (4 * shots) if shots else 0
    before = "".join(draw_line(kind, source, short).text for _ in range(shots))
    return before, draw_line(kind, source, context if beyond else context - shots * short, beyond=beyond)


def chance_exact(kind: ProblemKind, symbols: int) -> float:
    """How often the best guess of a whole answer is right."""
    recalled = PROBLEMS[kind].distance is not None  # any letters, as those of a copy
    return Algorithmic(kind="copy" if recalled else kind).chance(symbols)


def chance_symbol(kind: ProblemKind, symbols: int) -> float:
    """How often the best guess of one symbol is right, over the symbols of an answer."""
    if kind == "add":
        return 1 / 5
    if kind != "sort":
        return 1 / len(LETTERS)
    letters = len(LETTERS)

    def at_most(rank: int, value: int) -> float:  # the letter of this rank is among the first `value`
        share = value / letters
        return sum(
            math.comb(symbols, n) * share**n * (1 - share) ** (symbols - n) for n in range(rank + 1, symbols + 1)
        )

    modes = (max(at_most(r, v + 1) - at_most(r, v) for v in range(letters)) for r in range(symbols))
    return sum(modes) / symbols


def evaluate_passkey(
    scorer: Scorer, config: PasskeyConfig, corpus: Corpus, seed: int, watch: Watch
) -> list[PasskeyCell]:
    """Letters to recall from contexts of several lengths, at several depths."""
    answers, cells = AnswerScorer(scorer, corpus), []
    for filler in (filler for filler in FILLERS if filler in config.fillers):
        for multiple in config.contexts:
            context = round(multiple * scorer.trained.config.model.length)
            watch(f"passkey in {context:,} tokens of {filler}")
            for depth in config.depths:
                pieces, wanted = [], []
                for number in range(config.count):
                    source = random.Random(seed_of(seed, "passkey", filler, context, depth, number))
                    make = in_digits if filler == "digits" else in_text
                    piece, answer = make(answers, source, config.symbols, context, depth)
                    pieces.append(piece)
                    wanted.append(answer)
                score = answers.score_pieces(pieces, wanted)
                sums = (score.exact, score.symbols, score.right, score.loss)
                cells.append(PasskeyCell(filler, context, depth, config.count, *sums, score.reason))
    return cells


def in_digits(
    answers: AnswerScorer, source: random.Random, symbols: int, context: int, depth: float
) -> tuple[WindowedText, str]:
    """A key among random digits, as in training: of as many tokens as a context has, or a little fewer."""
    filler, seed = max(0, symbols_that_fit(answers.corpus, context) - ROOM - 2 * symbols), source.getrandbits(62)
    while True:
        before = round(depth * filler)
        line = passkey_at_depth(random.Random(seed), symbols, before, filler - before)
        piece = answers.piece("", line)
        excess = piece.window.context - context
        if excess <= 0 or not filler:
            return piece, line.answer
        filler = max(0, filler - excess)


def in_text(
    answers: AnswerScorer, source: random.Random, symbols: int, context: int, depth: float
) -> tuple[WindowedText, str]:
    """A key in validation text, a needle in a haystack, of exactly as many tokens as a context has."""
    line = passkey_at_depth(source, symbols, 0, 0)
    key, _, question = line.question.partition(".")
    needle, end = (answers.corpus.encode(text)[1:] for text in (f"\n{key}.\n", f"\n{question.lstrip()}{line.answer}"))
    room = max(0, context - len(needle) - len(end))
    total = answers.corpus.tokens("valid")
    text = answers.corpus.read("valid", source.randrange(max(1, total - room)), min(room, total))[0]
    text = text[text != END_ID]  # one document, so that attention is as in one
    before = round(depth * len(text))
    tokens = np.concatenate(([END_ID], text[:before], needle, text[before:], end)).astype(np.int64)
    sizes = np.cumsum(answers.sizes[tokens][::-1])[::-1]  # bytes from each token to the end
    scored = int((np.append(sizes[1:], 0) < len(line.answer)).sum())
    return WindowedText(tokens, Window(0, len(tokens), scored)), line.answer
