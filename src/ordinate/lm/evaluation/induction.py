"""Random tokens, then the same again: a test of copying that needs no knowledge of language."""

from collections.abc import Callable

import numpy as np

from ordinate.core.seeds import seed_of
from ordinate.lm.evaluation.config import InductionConfig
from ordinate.lm.evaluation.scorer import Scorer, WindowedText
from ordinate.lm.evaluation.windows import Window
from ordinate.results.lm_evaluation import InductionRow
from ordinate.statistics.document_losses import DocumentLosses
from ordinate.text.corpus import Corpus
from ordinate.text.tokenizer import END_ID


def evaluate_induction(
    scorer: Scorer, config: InductionConfig, corpus: Corpus, seed: int, watch: Callable[[str], None]
) -> list[InductionRow]:
    """The losses of both halves, at several distances between them."""
    sizes = corpus.token_bytes()
    ids = np.flatnonzero(sizes)  # that text can have
    rows = []
    for multiple in config.periods:
        period = max(1, round(multiple * scorer.trained.config.model.length))
        watch(f"{period:,} random tokens twice")
        if reason := scorer.refusal(2 * period):
            rows.append(InductionRow(period, None, None, reason))
            continue
        pieces = []
        for number in range(config.sequences):
            source = np.random.default_rng(seed_of(seed, "induction", period, number))
            half = source.choice(ids, period)
            tokens = np.concatenate(([END_ID], half, half))
            pieces.append(WindowedText(tokens, Window(0, len(tokens), 2 * period)))
        losses = scorer.losses(pieces)
        first, second = (
            DocumentLosses(
                tuple(float(row[part].sum()) for row in losses),
                (period,) * len(pieces),
                tuple(int(sizes[piece.read[1:][part]].sum()) for piece in pieces),
            )
            for part in (slice(None, period), slice(period, None))
        )
        rows.append(InductionRow(period, first, second))
    return rows
