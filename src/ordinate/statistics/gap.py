"""What a seed loses from in distribution to longer lengths: the generalization gap, and the share that it keeps."""

from collections.abc import Mapping
from dataclasses import replace

from ordinate.statistics.observations import RangeKey
from ordinate.statistics.types import Analysis, Range, TaskAnalysis
from ordinate.statistics.words import Score

LossGaps = Mapping[tuple[str, str, int, RangeKey], float | None]  # by task, encoding, seed and range


def score_gap(task: TaskAnalysis, encoding: str) -> float | None:
    """The mean gap in score on the headline range: positive where the score gets worse. None without scores."""
    scores = _scores(task, encoding, task.shown)
    sign = 1.0 if task.direction == "higher" else -1.0
    return _mean([sign * (here - there) for here, there in scores])


def share_kept(task: TaskAnalysis, encoding: str, r: Range) -> float | None:
    """The score above chance on a range over that in distribution; None where either is inside the floor's band."""
    scores = _scores(task, encoding, r)
    if task.bar is None or task.inside is None or not scores:
        return None
    inside, beyond = (float(sum(column)) / len(scores) for column in zip(*scores, strict=True))
    both = Score(inside, task.inside.floor, task.inside.sequences), Score(beyond, r.floor, r.sequences)
    if not all(score.above_floor for score in both):
        return None
    return (beyond - r.chance) / (inside - task.inside.chance)


def _scores(task: TaskAnalysis, encoding: str, r: Range) -> list[tuple[float, float]]:
    """In distribution and on a range, of the seeds that are ranked there; without any, of those that are shown."""
    if task.inside is None:
        return []
    start, cell = task.inside.cell(encoding), r.cell(encoding)
    inside = dict(zip(start.seeds, start.scores, strict=True))
    found = [
        (here, there, counts)
        for seed, there, counts in zip(cell.seeds, cell.scores, cell.counted, strict=True)
        if there is not None and (here := inside.get(seed)) is not None
    ]
    ranked = any(counts for *_, counts in found)
    return [(here, there) for here, there, counts in found if counts or not ranked]


def with_loss_gaps(analysis: Analysis, gaps: LossGaps) -> Analysis:
    """The same analysis with the mean gap in loss by encoding, over the seeds that are ranked, where it is known."""

    def mean_gap(task: TaskAnalysis, encoding: str) -> float | None:
        cell = task.shown.cell(encoding)
        counted = [seed for seed, counts in zip(cell.seeds, cell.counted, strict=True) if counts]
        known = (gaps.get((task.task, encoding, seed, task.shown.key)) for seed in counted or cell.seeds)
        return _mean([gap for gap in known if gap is not None])

    def by_encoding(task: TaskAnalysis) -> dict[str, float]:
        return {encoding: gap for encoding in task.encodings if (gap := mean_gap(task, encoding)) is not None}

    return replace(analysis, tasks=tuple(replace(task, loss_gap=by_encoding(task)) for task in analysis.tasks))


def _mean(gaps: list[float]) -> float | None:
    return sum(gaps) / len(gaps) if gaps else None
