"""All scores of a comparison in order, and what can be said of every one of them at once."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from ordinate.statistics.distributions import band
from ordinate.statistics.large.columns import UNKNOWN, Observations
from ordinate.statistics.observations import SPLITS, TaskFacts
from ordinate.statistics.words import FAILED, Score, Word, word

WORDS = tuple(Word)
ID, OOD, SHIFT = (SPLITS.index(split) for split in ("id", "ood", "shift"))

Flags = Bool[np.ndarray, " rows"]
Numbers = Int[np.ndarray, " rows"]


class Grid:
    """Rows by task, range (in distribution, longer, shifted; then length), encoding and seed.

    A range is a slice of rows, and so is a cell: one encoding on one range. Without rows there is no slice. A run is
    one encoding with one seed on one task; it has rows in several ranges.
    """

    def __init__(self, given: Observations, planned: Mapping[str, Sequence[str]]) -> None:
        rows = np.flatnonzero(given.split != SPLITS.index("valid"))
        task_order, task = _in_order(given.task[rows])
        self.tasks = [given.tasks[code] for code in task_order]
        self.encodings, place = _places(task, given.encoding[rows], self.tasks, given.encodings, planned)
        order = np.lexsort((given.seed[rows], place, given.length[rows], given.split[rows], task))
        at = rows[order]  # of the rows as they were given
        self.task, self.place, self.seed = task[order].astype(np.int32), place[order].astype(np.int32), given.seed[at]
        self.split, self.length = given.split[at], given.length[at]
        self.score, self.diverged = given.score[at], given.diverged[at]
        self.chance, self.floor, self.sequences = given.chance[at], given.floor[at], given.sequences[at]
        self.hash = None if given.hash is None else given.hash[at]
        self.seen = None if given.seen is None else given.seen[at]
        self.ranges = starts(self.task, self.split, self.length)
        self.range = _numbered(self.ranges, len(at))
        self.cells = starts(self.range, self.place)
        # The chance, floor and n of a range are those of its first row.
        first = np.lexsort((at, self.range))
        self.first_row = first[self.ranges]
        self.bar = np.array([np.nan if facts.bar is None else facts.bar for facts in self.tasks])[self.task]
        self.lower = np.array([facts.direction == "lower" for facts in self.tasks], dtype=bool)[self.task]

    @cached_property
    def _by_run(self) -> Numbers:
        """The rows by task, encoding and seed; those of one run are in the order of the grid."""
        return np.lexsort((self.seed, self.place, self.task))

    @cached_property
    def runs(self) -> Int[np.ndarray, " runs"]:
        """Some row of each run, by task, encoding and seed."""
        order = self._by_run
        found: Int[np.ndarray, " runs"] = order[starts(self.task[order], self.place[order], self.seed[order])]
        return found

    @cached_property
    def run(self) -> Numbers:
        """Which run each row belongs to."""
        order, found = self._by_run, np.empty(len(self.seed), dtype=np.int32)
        found[order] = _numbered(starts(self.task[order], self.place[order], self.seed[order]), len(order))
        return found

    @cached_property
    def trained_range(self) -> Int[np.ndarray, " tasks"]:
        """Of each task: the range at the longest length in distribution, or UNKNOWN."""
        found = np.full(len(self.tasks), UNKNOWN)
        inside = np.flatnonzero(self.split[self.ranges] == ID)
        found[self.task[self.ranges[inside]]] = inside  # they are in the order of lengths: the longest stays
        return found

    @cached_property
    def start(self) -> Numbers:
        """The row of the same run at the longest length in distribution, or UNKNOWN."""
        inside = np.flatnonzero(self.range == self.trained_range[self.task])
        of_run = np.full(len(self.runs), UNKNOWN, dtype=np.int32)
        of_run[self.run[inside]] = inside
        found: Numbers = of_run[self.run]
        return found

    @cached_property
    def above_floor(self) -> Flags:
        """See `Score.above_floor`."""
        # Each floor with its n as one complex number: for a million rows `unique` takes 0.3 s, along an axis 2.5 s.
        both, which = np.unique(self.floor + 1j * self.sequences, return_inverse=True)
        tops = [
            pair.real if pair.imag == UNKNOWN else band(float(pair.real), int(pair.imag))[1] for pair in both.tolist()
        ]
        above: Flags = self.score > np.array(tops)[which]
        return above

    @cached_property
    def word(self) -> Numbers:
        """Which of WORDS each row has; UNKNOWN on tasks that have no words."""
        facts = (
            self.diverged * np.int8(_DIVERGED)
            + ~np.isnan(self.score) * np.int8(_THERE)
            + self.above_floor * np.int8(_ABOVE)
            + (self.score >= self.bar) * np.int8(_AT_BAR)
        )
        # A run without a start is as one whose start has no score.
        inside = np.where(self.split == ID, facts, np.where(self.start == UNKNOWN, 0, facts[self.start]))
        outside = np.where(self.split == ID, _NOTHING, facts)
        return np.where(np.isnan(self.bar), np.int8(UNKNOWN), _TABLE[inside, outside])

    @cached_property
    def gated(self) -> Flags:
        """Whether there is a gate to pass: a bar, and scores in distribution."""
        mask: Flags = ~np.isnan(self.bar) & (self.trained_range[self.task] != UNKNOWN)
        return mask

    @cached_property
    def learned(self) -> Numbers:
        """Of each row's run: 1 where it learned the task, 0 where it did not, UNKNOWN without an ID score."""
        own = self.word[self.start]
        known = self.gated & (self.start != UNKNOWN) & (own != WORDS.index(Word.UNKNOWN))
        return np.where(known, own == WORDS.index(Word.SOLVES), np.int8(UNKNOWN))

    @cached_property
    def may_report(self) -> Flags:
        """Whether the run passes the gate."""
        mask: Flags = ~self.gated | (self.learned == 1)
        return mask

    @cached_property
    def counts(self) -> Flags:
        """Whether a score may be reported: out of distribution, only of seeds that learned the task."""
        mask: Flags = ~np.isnan(self.score) & ~self.diverged & ((self.split == ID) | self.may_report)
        return mask

    @cached_property
    def effective(self) -> Float[np.ndarray, " rows"]:
        """See `cells._TaskRows._merit`: scores inside the floor's band count as the floor."""
        merit = np.where(np.isnan(self.bar) | self.above_floor, self.score, self.floor)
        return np.where(self.counts, np.where(self.lower, -self.score, merit), -np.inf)

    @cached_property
    def failed(self) -> Flags:
        """Whether the run did not learn the task, or diverged here."""
        return self.diverged | np.isin(self.word, [WORDS.index(word) for word in FAILED])

    def differing(self) -> Int[np.ndarray, " some"]:
        """Ranges on which not all runs had the same problems."""
        if self.hash is None or not len(self.hash):
            return np.zeros(0, dtype=np.int64)
        least, most = (function.reduceat(self.hash, self.ranges) for function in (np.minimum, np.maximum))
        return np.flatnonzero(least != most)

    def seen_share(self) -> Float[np.ndarray, " ranges"]:
        """Of each range, the largest share of its problems that training showed; NaN where that is unknown."""
        if self.seen is None:
            return np.full(len(self.ranges), np.nan)
        return np.fmax.reduceat(self.seen, self.ranges)


def starts(*columns: Numbers) -> Int[np.ndarray, " slices"]:
    """Where the slices begin in which no column changes."""
    if not len(columns[0]):
        return np.zeros(0, dtype=np.int64)
    change = np.zeros(len(columns[0]), dtype=bool)
    change[0] = True
    for column in columns:
        change[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(change)


def _numbered(starts: Int[np.ndarray, " slices"], rows: int) -> Numbers:
    """Which slice each row is in."""
    marks = np.zeros(rows, dtype=np.int8)
    marks[starts] = 1
    return marks.cumsum(dtype=np.int32) - 1


def _in_order(codes: Numbers) -> tuple[list[int], Numbers]:
    """The codes in the order in which they first come, and for each row which of them it has."""
    known, first, which = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return known[order].tolist(), rank[which]


def _places(
    task: Numbers,
    encoding: Numbers,
    tasks: Sequence[TaskFacts],
    names: Sequence[str],
    planned: Mapping[str, Sequence[str]],
) -> tuple[list[list[str]], Numbers]:
    """The encodings of each task, those that were planned first, and for each row which of its task's it has."""
    pairs, which = _in_order(task * max(len(names), 1) + encoding)
    found = [list(dict.fromkeys(planned.get(facts.name, ()))) for facts in tasks]
    at = [{name: index for index, name in enumerate(own)} for own in found]
    places = []
    for pair in pairs:
        number, code = divmod(pair, len(names))
        places.append(at[number].setdefault(names[code], len(at[number])))
    return [list(own) for own in at], np.array(places, dtype=np.int64)[which]


_DIVERGED, _THERE, _ABOVE, _AT_BAR, _NOTHING = 1, 2, 4, 8, 16


def _typical(facts: int) -> Score | None:
    """Some score of which these facts hold, where the bar is 0.5; none where nothing is there to be said."""
    if facts == _NOTHING:
        return None
    value = 0.6 if facts & _AT_BAR else 0.4
    floor = value - 0.1 if facts & _ABOVE else value + 0.1
    return Score(value if facts & _THERE else None, floor, None, bool(facts & _DIVERGED))


# The word depends on a few facts about two scores: `word` decides once for each combination.
_TABLE = np.array(
    [
        [WORDS.index(word(0.5, _typical(inside) or Score(None, 0.0), _typical(outside))) for outside in range(17)]
        for inside in range(16)
    ],
    dtype=np.int8,
)
