"""The generalization gap: what a seed loses from in distribution to the headline range. Positive: it gets worse."""

from collections.abc import Mapping
from dataclasses import replace

from ordinate.statistics.observations import RangeKey
from ordinate.statistics.types import Analysis, TaskAnalysis

LossGaps = Mapping[tuple[str, str, int, RangeKey], float | None]  # by task, encoding, seed and range


def score_gap(task: TaskAnalysis, encoding: str) -> float | None:
    """The mean gap in score over the seeds that count on the headline range; None if no seed does."""
    if task.inside is None:
        return None
    inside, beyond = task.inside.cell(encoding), task.shown.cell(encoding)
    scores = dict(zip(inside.seeds, inside.scores, strict=True))
    sign = 1.0 if task.direction == "higher" else -1.0
    return _mean(
        [
            sign * (here - there)
            for seed, there, counts in zip(beyond.seeds, beyond.scores, beyond.counted, strict=True)
            if counts and there is not None and (here := scores.get(seed)) is not None
        ]
    )


def with_loss_gaps(analysis: Analysis, gaps: LossGaps) -> Analysis:
    """The same analysis with the mean gap in loss by encoding, over the same seeds, where it is known."""

    def mean_gap(task: TaskAnalysis, encoding: str) -> float | None:
        cell = task.shown.cell(encoding)
        counted = [seed for seed, counts in zip(cell.seeds, cell.counted, strict=True) if counts]
        known = (gaps.get((task.task, encoding, seed, task.shown.key)) for seed in counted)
        return _mean([gap for gap in known if gap is not None])

    def by_encoding(task: TaskAnalysis) -> dict[str, float]:
        return {encoding: gap for encoding in task.encodings if (gap := mean_gap(task, encoding)) is not None}

    return replace(analysis, tasks=tuple(replace(task, loss_gap=by_encoding(task)) for task in analysis.tasks))


def _mean(gaps: list[float]) -> float | None:
    return sum(gaps) / len(gaps) if gaps else None
