"""Algorithmic problems as a language model meets them: what is scored, chance, and the passkey grid."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ordinate.lm.evaluation.config import InductionConfig, PasskeyConfig, ProblemConfig
from ordinate.lm.evaluation.induction import evaluate_induction
from ordinate.lm.evaluation.problems import (
    AnswerScorer,
    chance_exact,
    chance_symbol,
    evaluate_passkey,
    evaluate_problems,
    in_text,
)
from ordinate.lm.evaluation.scorer import Scorer
from ordinate.lm.trained_model import TrainedModel
from ordinate.model import Transformer
from ordinate.tasks.algorithmic import KINDS, ProblemLine, draw_line
from ordinate.text.corpus import Corpus


class Oracle(Transformer):
    """Knows the token that comes next in the texts it was shown, and is sure of it."""

    def learn(self, rows: list[list[int]]) -> "Oracle":
        self.known = {tuple(row[:at]): row[at] for row in rows for at in range(1, len(row))}
        return self

    def states(self, tokens: torch.Tensor, document_ids: torch.Tensor | None = None) -> torch.Tensor:
        after = [[self.known.get(tuple(row[: at + 1]), 0) for at in range(len(row))] for row in tokens.tolist()]
        return F.one_hot(torch.tensor(after), self.config.vocabulary).float()

    @property
    def unembedding(self) -> torch.Tensor:
        return 1000 * torch.eye(self.config.vocabulary)


def test_a_model_that_knows_the_answers_scores_all_and_one_that_errs_scores_what_it_knows(
    untrained: Callable[..., TrainedModel], long_corpus: Corpus
) -> None:
    trained, lines = untrained(), [ProblemLine("reverse a b c | ", "c b a"), ProblemLine("copy x y | ", "x y")]
    rows = [long_corpus.encode(f"{line.question}{line.answer}") for line in lines]
    oracle = Oracle(trained.config.model).learn(rows)
    score = AnswerScorer(Scorer(trained, oracle), long_corpus).score([("", line) for line in lines])
    assert (score.exact, score.symbols, score.right, score.reason) == (2, 5, 5, "")
    assert score.loss == pytest.approx(0, abs=1e-3) and score.longest == len(rows[0]) - 1
    wrong = [*rows[1][:-1], rows[0][-1]]  # `x a` for `x y`
    half = Oracle(trained.config.model).learn([rows[0], wrong])
    score = AnswerScorer(Scorer(trained, half), long_corpus).score([("", line) for line in lines])
    assert (score.exact, score.symbols, score.right) == (1, 5, 4)


def test_what_is_scored_is_the_answer_whatever_its_tokens_are(
    untrained: Callable[..., TrainedModel], long_corpus: Corpus
) -> None:
    answers, source = AnswerScorer(Scorer.of(untrained()), long_corpus), random.Random(0)
    for kind in KINDS:
        line = draw_line(kind, source, 40)
        piece = answers.piece("before\n", line)
        scored = long_corpus._tokenizer.decode(piece.read[-piece.window.scored :].tolist())
        assert scored.strip() == line.answer
        assert len(answers._symbol_starts(piece, line.answer)) == len(line.answer.split())


def test_scores_do_not_depend_on_what_is_scored_together(
    untrained: Callable[..., TrainedModel], long_corpus: Corpus
) -> None:
    """Problems of several lengths share a batch."""
    answers, source = AnswerScorer(Scorer.of(untrained("alibi")), long_corpus), random.Random(0)
    drawn = [("", draw_line("copy", source, 40)) for _ in range(12)]
    together, alone = answers.score(drawn), [answers.score([problem]) for problem in drawn]
    assert together.loss == pytest.approx(sum(score.loss for score in alone), rel=1e-5)
    assert together.right == sum(score.right for score in alone)


def test_every_cell_has_its_problems_and_chance(untrained: Callable[..., TrainedModel], long_corpus: Corpus) -> None:
    config = ProblemConfig(count=4, shots=(0, 2))
    rows = evaluate_problems(Scorer.of(untrained("learned(rows=64)")), config, long_corpus, 0, lambda stage: None)
    assert len(rows) == len(KINDS) * 2 * 2
    for row in rows:
        assert bool(row.reason) == (row.longest > 64)
        assert row.reason or (0 <= row.right <= row.symbols and 0 < row.chance_exact < row.chance_symbol < 1)
    again = evaluate_problems(Scorer.of(untrained("learned(rows=64)")), config, long_corpus, 0, lambda stage: None)
    assert rows == again


@pytest.mark.parametrize("kind", KINDS)
def test_chance_is_what_the_best_guess_scores(kind: str) -> None:
    source, symbols = random.Random(1), 3
    if kind == "add":
        drawn = [[source.randrange(5) + source.randrange(5) for _ in range(symbols)] for _ in range(20_000)]
    else:
        drawn = [[source.randrange(26) for _ in range(symbols)] for _ in range(20_000)]
        drawn = [sorted(row) for row in drawn] if kind == "sort" else drawn
    table = np.array(drawn)
    best = np.mean([np.bincount(column).max() / len(table) for column in table.T])
    assert chance_symbol(kind, symbols) == pytest.approx(best, rel=0.1)  # type: ignore[arg-type]
    whole = {"add": 5.0**-symbols, "sort": math.factorial(symbols) * 26.0**-symbols}.get(kind, 26.0**-symbols)
    assert chance_exact(kind, symbols) == pytest.approx(whole)  # type: ignore[arg-type]


def test_the_passkey_grid_fits_its_contexts_and_says_where_an_encoding_ends(
    untrained: Callable[..., TrainedModel], long_corpus: Corpus
) -> None:
    config = PasskeyConfig(("digits",), contexts=(4.0, 8.0), depths=(0.0, 1.0), symbols=2, count=3)
    cells = evaluate_passkey(Scorer.of(untrained("learned(rows=64)")), config, long_corpus, 0, lambda stage: None)
    assert [(cell.context, cell.depth, bool(cell.reason)) for cell in cells] == [
        (64, 0.0, False), (64, 1.0, False), (128, 0.0, True), (128, 1.0, True),
    ]  # fmt: skip
    assert all(cell.symbols == 6 for cell in cells if not cell.reason)


@pytest.mark.parametrize("depth", [0.0, 0.3, 1.0])
def test_a_needle_stands_in_text_at_its_depth_and_fills_the_context(
    untrained: Callable[..., TrainedModel], long_corpus: Corpus, depth: float
) -> None:
    answers = AnswerScorer(Scorer.of(untrained()), long_corpus)
    piece, answer = in_text(answers, random.Random(3), 4, 200, depth)
    words = long_corpus._tokenizer.decode(piece.read.tolist(), skip_special_tokens=False)
    assert piece.window.context <= 200 and piece.window.context >= 190  # ends of documents are left out
    head, needle, _ = words.partition(f"\nkey {answer} .\n")
    assert needle and words.endswith(f"\nkey ? {answer}")
    assert len(head) / len(words) == pytest.approx(depth, abs=0.25)
    scored = long_corpus._tokenizer.decode(piece.read[-piece.window.scored :].tolist())
    assert scored.strip() == answer


def test_induction_compares_the_second_copy_with_the_first(
    untrained: Callable[..., TrainedModel], long_corpus: Corpus
) -> None:
    rows = evaluate_induction(
        Scorer.of(untrained("learned(rows=32)")),
        InductionConfig((0.5, 1.0, 2.0), 3),
        long_corpus,
        0,
        lambda stage: None,
    )
    assert [(row.period, bool(row.reason)) for row in rows] == [(8, False), (16, False), (32, True)]
    first, second = rows[1].first, rows[1].second
    assert first is not None and second is not None
    assert first.tokens == second.tokens == (16, 16, 16) and first.bytes == second.bytes
