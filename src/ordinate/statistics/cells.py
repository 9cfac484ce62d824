"""From observations to cells: the word of every seed, the gate, what counts, intervals and ranks, task by task.

This is the definition, one score at a time. `large` computes the same for files of millions of rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.statistics.interval import interval
from ordinate.statistics.length_curve import Crossing, Point, area, crossing
from ordinate.statistics.observations import SPLITS, Observation, RangeKey, TaskFacts, trained_length
from ordinate.statistics.ranks import AverageRanks, ranks
from ordinate.statistics.reach import OTHER_BARS
from ordinate.statistics.types import Cell, Range
from ordinate.statistics.words import FAILED, Score, Word, normalized, word

RunKey = tuple[str, int]  # encoding and seed


@dataclass(frozen=True, slots=True)
class SeedRun:
    """One encoding with one seed on one task."""

    seed: int
    learned: bool | None  # none: unknown, for want of a score in distribution
    diverged: bool  # on some range
    scored: bool  # it has a score in distribution
    crossing: Crossing | None = None  # where its scores fall below the bar, if it learned the task
    at_other_bars: tuple[float, ...] = ()  # the same at OTHER_BARS, lengths only
    area: float | None = None  # under its scores from the trained length on; beyond it the floor, if not learned

    @property
    def failed(self) -> bool:
        return self.diverged or self.learned is False


@dataclass(frozen=True)
class CurveRules:
    """What turns the scores of a run by length into its reach and its area."""

    bar: float | None
    trained: int | None
    longer: Mapping[int, float]  # lengths and their floors

    @property
    def floors(self) -> Mapping[int, float] | None:
        """None for a loss."""
        return None if self.bar is None else self.longer

    @classmethod
    def of(cls, facts: TaskFacts, keys: Sequence[RangeKey], floors: Sequence[float]) -> "CurveRules":
        """Of a task with these ranges."""
        longer = {key[1]: floor for key, floor in zip(keys, floors, strict=True) if key[0] == "ood"}
        return cls(facts.bar, trained_length(keys), longer)

    def run(self, seed: int, learned: bool | None, diverged: bool, scored: bool, points: list[Point]) -> SeedRun:
        """A run with its curve: its scores in distribution and at longer lengths, by length."""
        gated = self.bar is not None and self.trained is not None
        if gated and learned is None:
            return SeedRun(seed, learned, diverged, scored)
        first = crossing(points, self.bar) if self.bar is not None and learned else None
        others = tuple(crossing(points, bar).length for bar in OTHER_BARS) if first else ()
        return SeedRun(seed, learned, diverged, scored, first, others, self._area(learned, diverged, points))

    def _area(self, learned: bool | None, diverged: bool, points: list[Point]) -> float | None:
        """From the trained length on; None without a score there, or with one longer length only.

        Beyond it a run that did not learn the task has the floor, as has one that diverged where it has no score.
        """
        outer = [point for point in points if self.trained is None or point.length >= self.trained]
        if self.trained is not None:
            if len(outer) < 3 or outer[0].length != self.trained or outer[0].score is None:
                return None
            if learned is False:
                outer = [outer[0], *(Point(point.length, None) for point in outer[1:])]
        if diverged:
            outer = [point._replace(missing=False) for point in outer]
        return area(outer, self.floors)


@dataclass(frozen=True)
class TaskScores:
    """One task: its ranges with their cells, and its runs by encoding."""

    facts: TaskFacts
    ranges: list[Range]  # id, then ood, then shift, by length
    runs: dict[str, list[SeedRun]]  # encoding: by seed; planned encodings come first, also those without any row
    differing: list[RangeKey]  # ranges on which not all runs had the same problems
    seen: dict[RangeKey, float]  # range: the largest share of its problems that training showed, where known


def task_scores(
    observations: Sequence[Observation], planned: Mapping[str, Sequence[str]], alpha: float
) -> Iterator[TaskScores]:
    """Every task in the order in which it first comes; validation rows only choose learning rates."""
    by_task: dict[str, list[Observation]] = {}
    for item in observations:
        if item.split != "valid":
            by_task.setdefault(item.task, []).append(item)
    for name, items in by_task.items():
        yield _TaskRows(items, planned.get(name, ()), alpha).scores()


class _TaskRows:
    """The observations of one task by range and run."""

    def __init__(self, items: list[Observation], planned: Sequence[str], alpha: float) -> None:
        self.items, self.first, self.bar, self.alpha = items, items[0], items[0].bar, alpha
        seeds: dict[str, set[int]] = {encoding: set() for encoding in planned}
        self.rows: dict[RangeKey, dict[RunKey, Observation]] = {}
        for item in items:
            seeds.setdefault(item.encoding, set()).add(item.seed)
            self.rows.setdefault((item.split, item.length), {})[item.encoding, item.seed] = item
        self.seeds = {encoding: sorted(own) for encoding, own in seeds.items()}
        self.keys = sorted(self.rows, key=lambda key: (SPLITS.index(key[0]), key[1]))
        self.trained = trained_length(self.keys)
        self.inside = {} if self.trained is None else self.rows["id", self.trained]
        self.gated = self.bar is not None and self.trained is not None
        self.facts = TaskFacts(self.first.task, self.bar, self.first.direction, self.first.family)
        self.rules = CurveRules.of(
            self.facts, self.keys, [next(iter(self.rows[key].values())).floor for key in self.keys]
        )

    def scores(self) -> TaskScores:
        return TaskScores(
            self.facts,
            [self._range(key) for key in self.keys],
            {encoding: [self._run((encoding, seed)) for seed in own] for encoding, own in self.seeds.items()},
            [key for key in self.keys if len({item.hash for item in self.rows[key].values()}) > 1],
            {key: max(shares) for key in self.keys if (shares := self._seen(key))},
        )

    def _seen(self, key: RangeKey) -> list[float]:
        return [item.seen for item in self.rows[key].values() if item.seen is not None]

    def _word(self, item: Observation) -> Word | None:
        """The word of one seed on one range; a task scored by loss has none."""
        if self.bar is None:
            return None
        if item.split == "id":
            return word(self.bar, _score(item), None)
        start = self.inside.get((item.encoding, item.seed))
        return word(self.bar, Score(None, 0.0) if start is None else _score(start), _score(item))

    def _learned(self, key: RunKey) -> bool | None:
        """Whether a run learned the task: at the longest trained length it is at the bar."""
        if not self.gated or key not in self.inside:
            return None
        own = self._word(self.inside[key])
        return None if own is Word.UNKNOWN else own is Word.SOLVES

    def _passes_gate(self, key: RunKey) -> bool:
        return not self.gated or bool(self._learned(key))

    def _counts(self, item: Observation) -> bool:
        """Whether a score may be reported: out of distribution, only of seeds that learned the task."""
        scored = item.score is not None and not item.diverged
        return scored and (item.split == "id" or self._passes_gate((item.encoding, item.seed)))

    def _run(self, key: RunKey) -> SeedRun:
        items = [rows[key] for rows in self.rows.values() if key in rows]
        scored = any(item.split == "id" and item.score is not None for item in items)
        return self.rules.run(key[1], self._learned(key), any(i.diverged for i in items), scored, self._points(key))

    def _points(self, key: RunKey) -> list[Point]:
        """The curve of a run. A longer length that only other runs have is missing; one in distribution is left out."""
        points = []
        for split, length in sorted((k for k in self.keys if k[0] != "shift"), key=lambda k: (k[1], k[0])):
            item = self.rows[split, length].get(key)
            if item is not None or split == "ood":
                points.append(Point(length, item.score if item else None, item is None))
        return points

    def _range(self, key: RangeKey) -> Range:
        rows, sign = self.rows[key], -1 if self.first.direction == "lower" else 1
        some = next(iter(rows.values()))

        def best_first(cell: Cell) -> tuple[bool, float, int, float, str]:
            mean = cell.interval.mean if cell.interval else 0.0
            passing = sum(self._passes_gate((cell.encoding, seed)) for seed in cell.seeds)
            return cell.interval is None, -sign * mean, -passing, -sign * (_mean(cell.scores) or 0.0), cell.encoding

        cells = sorted((self._cell(encoding, key) for encoding in self.seeds), key=best_first)
        return Range(*key, some.chance, some.floor, some.sequences, tuple(cells), self._ranks(rows))

    def _cell(self, encoding: str, key: RangeKey) -> Cell:
        items = [item for seed in self.seeds[encoding] if (item := self.rows[key].get((encoding, seed)))]
        words = [self._word(item) for item in items]
        counted = tuple(self._counts(item) for item in items)
        values = [item.score for item, counts in zip(items, counted, strict=True) if counts and item.score is not None]
        mean = interval(values, bounds=None if self.bar is None else (0.0, 1.0)) if values else None
        starts = [self.inside.get((encoding, item.seed)) for item in items]
        scaled = mean is not None and self.bar is not None and items[0].chance < 1
        return Cell(
            encoding=encoding,
            words={own: words.count(own) for own in words if own is not None},
            seeds=tuple(item.seed for item in items),
            scores=tuple(item.score for item in items),
            counted=counted,
            interval=mean,
            normalized=normalized(mean.mean, items[0].chance) if mean and scaled else None,
            inside=_mean([start.score for start in starts if start is not None]),
            failed=(
                sum(item.diverged or own in FAILED for item, own in zip(items, words, strict=True)),
                sum(counts or own is not Word.UNKNOWN for counts, own in zip(counted, words, strict=True)),
            ),
            bar=self.bar,
        )

    def _ranks(self, rows: Mapping[RunKey, Observation]) -> AverageRanks | None:
        """Of the encodings that have scores, over the seeds that all of them have."""
        names = [encoding for encoding, seeds in self.seeds.items() if seeds]
        every = sorted({seed for _, seed in rows})
        seeds = [seed for seed in every if all((name, seed) in rows for name in names)]
        if not seeds or len(names) < 2:
            return None
        table = [[self._merit(rows[name, seed]) for name in names] for seed in seeds]
        return ranks(names, np.array(table), self.alpha)

    def _merit(self, item: Observation) -> float:
        """The score that ranks go by: -inf without one to report; scores inside the floor's band count as the floor."""
        if item.score is None or not self._counts(item):
            return -np.inf
        if item.direction == "lower":
            return -item.score
        return item.score if self.bar is None or _score(item).above_floor else item.floor


def _score(item: Observation) -> Score:
    return Score(item.score, item.floor, item.sequences, item.diverged)


def _mean(scores: Sequence[float | None]) -> float | None:
    numbers = [score for score in scores if score is not None]
    # added in the order of `large`: rounding must not decide between equal encodings
    return float(np.add.reduceat(numbers, [0])[0]) / len(numbers) if numbers else None
