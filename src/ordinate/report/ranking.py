"""The critical-difference picture: average ranks, and which of them overlap."""

from collections.abc import Iterator

from ordinate.report.chart import Chart, Series
from ordinate.report.colors import GRAY, Style
from ordinate.report.curves import Looks
from ordinate.statistics.ranks import AverageRanks

MOST_RANKED = 100  # encodings of a picture


def ranking(
    name: str, title: str, blocks: str, ranks: AverageRanks | None, looks: Looks, alpha: float, task: str = ""
) -> Iterator[Chart]:
    """One row per encoding, best at the top; bars on the right join those whose ranks overlap."""
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
    for index, group in enumerate(ranks.groups):
        at, ends = right + 0.35 + 0.25 * index, (rows[group[0]], rows[group[-1]])
        series.append(Series("ranks overlap", (at, at), ends, Style(GRAY), "bar"))
    yield Chart(
        name, title, "average rank (1 is best)", "", tuple(series),
        x_ticks=tuple(range(1, len(names) + 1)) if len(names) <= 12 else (), y_ticks=tuple(ticks),
        x_range=(0.7, right + 0.35 + 0.25 * max(len(ranks.groups), 1)),
        y_range=(0.4, len(names) + 0.6 + (ranks.critical_difference is not None)),
        note=_note(ranks, blocks, alpha), task=task,
    )  # fmt: skip


def _note(ranks: AverageRanks, blocks: str, alpha: float) -> str:
    if ranks.critical_difference is None:
        return f"Too few {blocks} for a critical difference: the order may be chance."
    together = "A bar on the right joins encodings whose ranks overlap" if ranks.groups else "All ranks differ"
    text = f"{together} (Nemenyi, alpha {alpha:g}, {ranks.blocks} {blocks} as blocks)."
    text += " This is another and weaker test than that of the pairs, which alone makes claims."
    if ranks.friedman_p is not None:
        text += f" Friedman's test of all being alike: p = {ranks.friedman_p:.3g}."
    return text
