"""From a grid of scores to ranges: every cell with its words, interval and failures, best first, and the ranks."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from ordinate.statistics.interval import Interval, intervals
from ordinate.statistics.large.columns import UNKNOWN
from ordinate.statistics.large.grid import WORDS, Flags, Grid, starts
from ordinate.statistics.observations import SPLITS
from ordinate.statistics.ranks import AverageRanks, many_ranks
from ordinate.statistics.types import Cell, Range
from ordinate.statistics.words import Word, normalized

Places = dict[int, int]  # of the encodings of a range: which cell is theirs


def ranges_of(grid: Grid, alpha: float) -> list[Range]:
    """All ranges of all tasks, in the order of the grid."""
    cells = _Cells(grid)
    edges = [*np.searchsorted(grid.cells, grid.ranges).tolist(), len(grid.cells)]
    place = grid.place[grid.cells].tolist()
    some = grid.first_row
    columns = (grid.task, grid.split, grid.length, grid.chance, grid.floor, grid.sequences)
    found = []
    for index, (facts, ranks) in enumerate(
        zip(zip(*(column[some].tolist() for column in columns), strict=True), _ranks(grid, alpha), strict=True)
    ):
        task, split, length, chance, floor, sequences = facts
        at = {place[cell]: cell for cell in range(edges[index], edges[index + 1])}
        own = tuple(cells.best_first(grid.encodings[task], at, task))
        known = None if sequences == UNKNOWN else sequences
        found.append(Range(SPLITS[split], length, chance, floor, known, own, ranks))
    return found


class _Cells:
    """What is counted in every cell that has rows, and the cells built from it."""

    def __init__(self, grid: Grid) -> None:
        self.grid, first = grid, grid.cells
        self.edges = [*first.tolist(), len(grid.score)]
        self.intervals = _intervals(grid)
        self.seeds, self.words = grid.seed, grid.word
        scores, self.which = np.unique(grid.score, return_inverse=True)
        self.scores = [None if score != score else score for score in scores.tolist()]
        there = ~np.isnan(grid.score)
        self.mean = _means(grid, grid.score, there)  # of all seeds, whether they count or not
        started = np.where(grid.start == UNKNOWN, np.nan, grid.score[grid.start])
        self.inside = _means(grid, started, ~np.isnan(started))
        self.reporting = np.add.reduceat(grid.may_report.astype(np.int64), first).tolist()
        self.failed = np.add.reduceat(grid.failed.astype(np.int64), first).tolist()
        known = grid.counts | (grid.word != WORDS.index(Word.UNKNOWN))
        self.known = np.add.reduceat(known.astype(np.int64), first).tolist()
        self.chance = grid.chance[first].tolist()
        # Most cells have the same seeds, counted alike: what is equal is kept once.
        self.shared_seeds: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.shared_flags: dict[tuple[bool, ...], tuple[bool, ...]] = {}
        self.shared_words: dict[tuple[tuple[Word, int], ...], dict[Word, int]] = {}

    def best_first(self, encodings: Sequence[str], at: Places, task: int) -> list[Cell]:
        """The cells of one range; an encoding without rows has one too."""
        facts = self.grid.tasks[task]
        sign = -1 if facts.direction == "lower" else 1
        keyed = []
        for place, encoding in enumerate(encodings):
            index = at.get(place)
            if index is None:
                cell, reporting, mean = Cell(encoding, {}, (), (), (), None, None, None, (0, 0), facts.bar), 0, None
            else:
                cell, reporting, mean = self._cell(encoding, index, facts.bar), self.reporting[index], self.mean[index]
            own = cell.interval
            order = (own is None, -sign * own.mean if own else 0.0, -reporting, -sign * (mean or 0.0), encoding)
            keyed.append((order, cell))
        keyed.sort(key=lambda item: item[0])
        return [cell for _, cell in keyed]

    def _cell(self, encoding: str, index: int, bar: float | None) -> Cell:
        rows = slice(self.edges[index], self.edges[index + 1])
        seeds, counted = tuple(self.seeds[rows].tolist()), tuple(self.grid.counts[rows].tolist())
        mean, chance = self.intervals[index], self.chance[index]
        words = {} if bar is None else _counted(self.words[rows].tolist())
        return Cell(
            encoding, self.shared_words.setdefault(tuple(words.items()), words),
            self.shared_seeds.setdefault(seeds, seeds), tuple([self.scores[at] for at in self.which[rows].tolist()]),
            self.shared_flags.setdefault(counted, counted), mean,
            normalized(mean.mean, chance) if mean and bar is not None and chance < 1 else None,
            self.inside[index], (self.failed[index], self.known[index]), bar,
        )  # fmt: skip


def _counted(words: list[int]) -> dict[Word, int]:
    """How many seeds have which word, in the order in which they come."""
    return {WORDS[word]: words.count(word) for word in dict.fromkeys(words)}


def _intervals(grid: Grid) -> list[Interval | None]:
    """Of every cell, over the seeds that count; those of accuracies stay where accuracies can lie."""
    scored = ~np.isnan(grid.bar)
    found: list[Interval | None] = [None] * len(grid.cells)
    for rows, bounds in ((grid.counts & scored, (0.0, 1.0)), (grid.counts & ~scored, None)):
        counts = np.add.reduceat(rows.astype(np.int64), grid.cells)
        for index, own in enumerate(intervals(grid.score[rows], counts, bounds=bounds)):
            found[index] = own or found[index]
    return found


def _means(grid: Grid, values: Float[np.ndarray, " rows"], rows: Flags) -> list[float | None]:
    """Of every cell, over some of its rows; none where there are none."""
    totals = np.add.reduceat(np.where(rows, values, 0.0), grid.cells).tolist()
    counts = np.add.reduceat(rows.astype(np.int64), grid.cells).tolist()
    return [total / count if count else None for total, count in zip(totals, counts, strict=True)]


def _ranks(grid: Grid, alpha: float) -> list[AverageRanks | None]:
    """Of every range: of the encodings that have scores, over the seeds that all of them have."""
    order = np.lexsort((grid.place, grid.seed, grid.range))
    begin = starts(grid.range[order], grid.seed[order])
    names = _names(grid)
    wanted = np.array([len(own) for own in names])[grid.task[order[begin]]]
    full = np.diff([*begin, len(order)]) == wanted
    rows = order[np.repeat(full, np.diff([*begin, len(order)]))]  # by range, seed and encoding
    blocks = np.bincount(grid.range[order[begin]][full], minlength=len(grid.ranges))
    tasks = grid.task[grid.ranges]
    k = np.array([len(own) for own in names])[tasks]
    first = np.cumsum(blocks * k) - blocks * k
    found: list[AverageRanks | None] = [None] * len(grid.ranges)
    for shape in sorted({(b, c) for b, c in zip(blocks.tolist(), k.tolist(), strict=True) if b and c > 1}):
        alike = np.flatnonzero((blocks == shape[0]) & (k == shape[1]))
        for members in _few(alike, shape[0] * shape[1]):
            at = first[members][:, None] + np.arange(shape[0] * shape[1])
            scores = grid.effective[rows[at]].reshape(-1, *shape)
            whose = [names[task] for task in tasks[members].tolist()]
            for index, own in zip(members.tolist(), many_ranks(whose, scores, alpha), strict=True):
                found[index] = own
    return found


def _few(members: Int[np.ndarray, " all"], size: int) -> Iterator[Int[np.ndarray, " some"]]:
    """Blocks small enough to fit in memory."""
    most = max(1, 4_000_000 // size)
    return (members[start : start + most] for start in range(0, len(members), most))


def _names(grid: Grid) -> list[list[str]]:
    """Of each task: the encodings that have any row."""
    most = max(map(len, grid.encodings), default=0)
    present = np.unique(grid.task.astype(np.int64) * most + grid.place).tolist()
    names: list[list[str]] = [[] for _ in grid.tasks]
    for code in present:
        task, place = divmod(code, most)
        names[task].append(grid.encodings[task][place])
    return names
