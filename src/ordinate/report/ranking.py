"""The critical-difference picture: average ranks, and which of them overlap."""

from collections.abc import Collection, Iterator

from ordinate.report.chart import Chart, Series
from ordinate.report.colors import GRAY, Style
from ordinate.report.curves import Looks
from ordinate.statistics.ranks import AverageRanks
from ordinate.statistics.types import TaskAnalysis

MOST_RANKED = 100  # encodings of a picture


def claimed(task: TaskAnalysis) -> set[frozenset[str]]:
    """The pairs that the tests tell apart, by whatever endpoint."""
    return {frozenset((pair.better, pair.worse)) for pair in task.pairs if pair.claim}


def joined(ranks: AverageRanks, apart: Collection[frozenset[str]]) -> list[tuple[str, ...]]:
    """Neighbors whose ranks overlap, without any two that the tests of pairs tell apart; none lies inside another."""
    found: list[tuple[str, ...]] = []
    for group in ranks.groups:
        for start in range(len(group)):
            end = start + 1
            while end < len(group) and not any(frozenset((name, group[end])) in apart for name in group[start:end]):
                end += 1
            found += [group[start:end]] if end > start + 1 else []
    unique = list(dict.fromkeys(found))
    return [own for own in unique if not any(set(own) < set(other) for other in unique)]


def ranking(
    name: str,
    title: str,
    blocks: str,
    ranks: AverageRanks | None,
    looks: Looks,
    alpha: float,
    task: TaskAnalysis | None = None,
) -> Iterator[Chart]:
    """One row per encoding, best at the top; bars on the right join those that neither ranks nor tests tell apart."""
    if ranks is None or not 1 < len(ranks.average) <= MOST_RANKED:
        return
    names = list(ranks.average)
    rows = {encoding: len(names) - index for index, encoding in enumerate(names)}
    series = [Series(own, (ranks.average[own],), (row,), looks[own], "points") for own, row in rows.items()]
    ticks = [(float(row), encoding) for encoding, row in rows.items()]
    right = max(ranks.average.values())
    if ranks.critical_difference is not None:
        top, end = len(names) + 1, 1 + ranks.critical_difference
        series.append(Series("critical difference", (1, end), (top, top), Style(GRAY), "bar"))
        ticks.append((top, f"critical difference {ranks.critical_difference:.2f}"))
        right = max(right, end)
    groups = joined(ranks, claimed(task) if task else ())
    for index, group in enumerate(groups):
        at, ends = right + 0.35 + 0.25 * index, (rows[group[0]], rows[group[-1]])
        series.append(Series("not told apart", (at, at), ends, Style(GRAY), "bar"))
    yield Chart(
        name, title, "average rank (1 is best)", "", tuple(series),
        x_ticks=tuple(range(1, len(names) + 1)) if len(names) <= 12 else (), y_ticks=tuple(ticks),
        x_range=(0.7, right + 0.35 + 0.25 * max(len(groups), 1)),
        y_range=(0.4, len(names) + 0.6 + (ranks.critical_difference is not None)),
        note=_note(ranks, blocks, alpha, bool(groups), tested=task is not None), task=task.task if task else "",
    )  # fmt: skip


def _note(ranks: AverageRanks, blocks: str, alpha: float, bars: bool, *, tested: bool) -> str:
    if ranks.critical_difference is None:
        return f"Too few {blocks} for a critical difference: the order may be chance."
    text = "A bar on the right joins encodings whose ranks overlap" if bars else "No bar joins any two"
    text += f" (Nemenyi, alpha {alpha:g}, {ranks.blocks} {blocks} as blocks)"
    text += " and that no test of the pairs tells apart." if tested and bars else "."
    text += " Overlap of ranks is a weaker test than that of the pairs, which alone makes claims."
    if ranks.friedman_p is not None:
        text += f" Friedman's test of all being alike: p = {ranks.friedman_p:.3g}."
    return text
