"""What comparisons read of a trained and evaluated language model: small enough to come with the program."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.statistics.document_losses import DocumentLosses

POINTS = 60  # of a learning curve


@dataclass(frozen=True)
class LanguageModelRecord:
    """One run: its evaluation with documents summed up, and how its training went."""

    evaluation: LanguageModelEvaluation
    curve_tokens: tuple[int, ...]
    curve_losses: tuple[float, ...]  # of training, after so many tokens
    seconds: float  # of training
    added_ratio: float  # see LanguageModelResult


def record_of(
    evaluation: LanguageModelEvaluation, curve: Sequence[tuple[int, float]], seconds: float, added_ratio: float
) -> LanguageModelRecord:
    """With sums over documents in place of their list, and a curve of a few points.

    Seeds are what a comparison compares; documents are the same in all of its runs. Reach needs their sums alone.
    """
    step = max(1, math.ceil(len(curve) / POINTS))
    kept = [*curve[::-step]][::-1]  # the last one is among them
    return LanguageModelRecord(
        summed(evaluation), tuple(tokens for tokens, _ in kept), tuple(loss for _, loss in kept), seconds, added_ratio
    )


def summed(evaluation: LanguageModelEvaluation) -> LanguageModelEvaluation:
    """The same losses, of all documents together."""
    return replace(
        evaluation,
        contexts=tuple(replace(row, losses=_total(row.losses)) for row in evaluation.contexts),
        positions=tuple(replace(row, losses=_sum(row.losses)) for row in evaluation.positions),
        induction=tuple(replace(r, first=_total(r.first), second=_total(r.second)) for r in evaluation.induction),
    )


def _total(losses: DocumentLosses | None) -> DocumentLosses | None:
    return None if losses is None else _sum(losses)


def _sum(losses: DocumentLosses) -> DocumentLosses:
    return DocumentLosses((math.fsum(losses.loss),), (sum(losses.tokens),), (sum(losses.bytes),))
