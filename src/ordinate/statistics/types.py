"""All that the scores of a comparison say, as plain data; `sentences` and `phrases` turn it into text."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import ClassVar, Literal, Self

from ordinate.statistics.improvement import Improvement
from ordinate.statistics.interval import Interval
from ordinate.statistics.learning import Steps
from ordinate.statistics.observations import Direction, RangeKey, Split, range_name
from ordinate.statistics.ranks import AverageRanks
from ordinate.statistics.reach import Reach
from ordinate.statistics.tests import Difference
from ordinate.statistics.words import Word

Record = dict[str, str | int | float | None]
COMPARISON_RULES = (
    "2"  # which rules of a fair comparison were applied: raised when results of two kinds must not be mixed
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One encoding on one range."""

    encoding: str
    words: dict[Word, int]  # how many seeds have which word; empty for a task scored by loss
    seeds: tuple[int, ...]
    scores: tuple[float | None, ...]  # of all seeds, in their order
    counted: tuple[bool, ...]  # which of them may be reported here: out of distribution, those that learned the task
    interval: Interval | None  # of the mean over those that count
    normalized: float | None  # that mean: 0 at chance, 1 when all is right
    inside: float | None  # the mean score in distribution of all its seeds
    failed: tuple[int, int] = (0, 0)  # seeds that did not learn the task or diverged, of those of which that is known
    bar: float | None = None  # of the task

    @property
    def word(self) -> Word | None:
        """The word that all seeds share, if they share one."""
        return next(iter(self.words)) if len(self.words) == 1 else None

    @property
    def unranked(self) -> float | None:
        """The mean score of seeds that are shown but neither ranked nor tested, as they did not learn the task."""
        scores = zip(self.scores, self.counted, strict=True)
        own = [score for score, counts in scores if not counts and score is not None]
        return sum(own) / len(own) if own else None


class Basis(StrEnum):
    """What two encodings are compared by."""

    SCORES = "scores"  # on the headline range; a seed that did not learn the task counts as the floor
    AREA = "area"  # under the curve of scores over log length, from the trained length to the longest tested
    LEARNING = "learning"  # how many seeds learned the task


class Outcome(StrEnum):
    """What a test allows to be said about a pair."""

    CLAIM = "better"
    FLOOR = "both at the floor"
    FEW_SEEDS = "not enough seeds"
    ALIKE = "no difference"  # above the margin, from 30 seeds on
    OPEN = "not told apart"
    SAME = "learned alike"  # by both in every seed, or by neither in any: nothing to test


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two encodings on one endpoint; `better` has the higher mean (for a loss, the lower), unless both are equal."""

    better: str
    worse: str
    basis: Basis
    seeds: tuple[int, int]  # of the better, of the worse
    means: tuple[float, float]  # of scores or areas, or the shares of seeds that learned the task
    difference: Difference  # better minus worse, in the score's own unit
    p: float  # Welch's test of scores, Fisher's of learning
    corrected: float  # by Holm, over all pairs and endpoints of the comparison
    improvement: Improvement | None  # how often a seed of the better has the better value; none for learning
    outcome: Outcome

    @property
    def claim(self) -> bool:
        return self.outcome is Outcome.CLAIM


@dataclass(frozen=True)
class Range:
    """One split at one length."""

    split: Split
    length: int
    chance: float
    floor: float
    sequences: int | None
    cells: tuple[Cell, ...]  # best first
    ranks: AverageRanks | None  # over seeds

    @property
    def key(self) -> RangeKey:
        return self.split, self.length

    @property
    def name(self) -> str:
        return range_name(self.split, self.length)

    @cached_property
    def by_encoding(self) -> dict[str, Cell]:
        return {cell.encoding: cell for cell in self.cells}

    def cell(self, encoding: str) -> Cell:
        return self.by_encoding[encoding]


@dataclass(frozen=True)
class ArmFacts:
    """What a study knows of one encoding on a task beside its scores."""

    encoding: str
    rate: float | None = None  # the learning rate that the sweep chose; none: no rate led to a score
    edge: Literal["largest", "smallest"] | None = None  # where that rate lies at an edge of the sweep
    added: float | None = None  # the norm of what the encoding adds to token embeddings at the start,
    embedding: float | None = None  # and theirs
    failed: Mapping[str, tuple[Sequence[str], int]] = field(default_factory=dict)  # what: errors, of how many runs
    damaged: tuple[tuple[str, int, float, str], ...] = ()  # run, seed, learning rate and error
    rates: Mapping[int, float] = field(default_factory=dict)  # seed: its learning rate, where several tied
    undealt: tuple[float, ...] = ()  # tied learning rates that no seed has, as there are fewer seeds


@dataclass(frozen=True)
class StudyFacts:
    """What a study knows of a task beside its scores; a file of results knows nothing."""

    done: int = 0
    runs: int = 0  # that are planned
    arms: tuple[ArmFacts, ...] = ()
    earlier: tuple[int, ...] = ()  # numbers of seeds with which the same comparison was finished before
    positive_control: bool = False  # every encoding should solve the task, so equal scores are expected
    longer: str = ""  # the command that gives encodings that were still rising more steps, if any were


@dataclass(frozen=True)
class TaskEvidence:
    """All that the alarms of a task are checked against."""

    bar: float | None
    seeds: int  # of all encodings together
    own_seeds: Mapping[str, int]  # of each encoding
    diverged: Sequence[tuple[str, int]]  # encodings and seeds
    diverged_beyond: Sequence[tuple[str, int]]  # those that have a score in distribution
    differing: Sequence[RangeKey]  # ranges on which not all runs had the same problems
    seen: Mapping[RangeKey, float]  # range: the largest share of its problems that training showed
    ranges: Sequence[Range]
    learned: Mapping[str, tuple[int, int]]  # as in TaskAnalysis
    needed: int  # seeds, for a claim about any pair
    study: StudyFacts
    shown: Range  # the headline range
    pairs: Sequence[Contrast]
    steps: Mapping[str, Steps] = field(default_factory=dict)  # as in TaskAnalysis
    areas: Mapping[str, Mapping[int, float | None]] = field(default_factory=dict)  # encoding, seed

    @cached_property
    def means(self) -> list[list[float]]:
        """Of each range: the mean of each encoding that has scores, over all its seeds."""
        scores = ([[s for s in cell.scores if s is not None] for cell in r.cells] for r in self.ranges)
        return [[sum(own) / len(own) for own in cells if own] for cells in scores]


@dataclass(frozen=True)
class Alarm(ABC):
    """What a reader must know before believing a table; the fields of a subclass are its facts (see alarms.py)."""

    kind: ClassVar[str]
    every: ClassVar[list[type["Alarm"]]] = []  # in the order of definition

    def __init_subclass__(cls, *, kind: str) -> None:
        cls.kind = kind
        Alarm.every.append(cls)

    @classmethod
    @abstractmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        """One for each occurrence in a task."""

    @abstractmethod
    def sentence(self) -> str:
        """Which encodings, what, and what to do."""


class Finding(StrEnum):
    """The bottom line of a task."""

    ALONE = "one encoding"  # nothing to compare
    NOT_LEARNED = "nobody learned it"
    USE = "use"  # the tests set some encodings above all others that can go there
    OPEN = "not shown"  # they do not


Level = Literal["success", "info", "warning"]  # of a box on a page


@dataclass(frozen=True)
class Verdict:
    """What the tests allow to be said about a task."""

    finding: Finding
    use: tuple[str, ...]  # above all others, with no significant difference among them
    seeds: int  # the fewest that an encoding has
    unseen: float | None  # the rate of failures that so many seeds cannot see, even if all agree
    best: Mapping[Basis, tuple[str, ...]] = field(
        default_factory=dict
    )  # without `use`: above all others by one endpoint

    @property
    def claims(self) -> bool:
        """Whether some encoding is shown to be above all others, by one endpoint at least."""
        return bool(self.use or self.best)

    @property
    def level(self) -> Level:
        """How a page shows it: a success only if something is claimed, a warning where nothing can be compared."""
        if self.claims:
            return "success"
        return "warning" if self.finding is Finding.NOT_LEARNED else "info"


@dataclass(frozen=True)
class TaskAnalysis:
    """One task."""

    task: str
    family: str
    direction: Direction
    bar: float | None
    trained: int | None  # the longest length in distribution
    encodings: tuple[str, ...]  # best first, on the headline range
    seeds: tuple[int, ...]
    ranges: tuple[Range, ...]  # id, then ood, then shift, by length
    headline: int  # which of the ranges encodings are tested on
    # encoding: seeds whose final score in distribution is at the bar, of how many that have one
    learned: dict[str, tuple[int, int]]
    reach: dict[str, Reach]  # encoding: how far it holds; both empty for a loss, and without scores in distribution
    steps: dict[str, Steps]  # encoding: how its training went, where that is known
    pairs: tuple[Contrast, ...]  # those that have seeds to compare, learning first
    means: dict[str, float]  # encoding: the headline mean over all seeds, those that did not learn at the floor
    areas: dict[
        str, float
    ]  # encoding: the mean area over all seeds, likewise; empty with fewer than two longer lengths
    verdict: Verdict
    alarms: tuple[Alarm, ...]
    unknown: dict[str, int] = field(default_factory=dict)  # encoding: seeds without a score in distribution, if any
    loss_gap: dict[str, float] = field(default_factory=dict)  # encoding: see gap.py; empty where it is unknown

    @property
    def shown(self) -> Range:
        """The headline range."""
        return self.ranges[self.headline]

    @property
    def inside(self) -> Range | None:
        """The longest range in distribution."""
        return next((r for r in reversed(self.ranges) if r.split == "id"), None)


@dataclass(frozen=True)
class Analysis:
    """A whole comparison."""

    tasks: tuple[TaskAnalysis, ...]
    encodings: tuple[str, ...]
    alpha: float
    tests: int = 0  # of scores: pairs of all tasks by endpoints
    seeds_needed: int = 0  # for a claim about any of them
    families: dict[str, AverageRanks] = field(default_factory=dict)  # family: ranks over its tasks, if several
    limits: tuple[str, ...] = ()  # what the data do not show
    preliminary: tuple[str, ...] = ()  # rules that were relaxed
    rules: str = COMPARISON_RULES

    def records(self) -> list[Record]:
        """One for each task, range and encoding."""
        return list(self.each_record())

    def each_record(self) -> Iterator[Record]:
        """The same, one after another: there may be millions."""
        for task in self.tasks:
            reach = {encoding: own.median for encoding, own in task.reach.items()}
            for r in task.ranges:
                for cell in r.cells:
                    yield {
                        "task": task.task, "range": r.name, "split": r.split, "length": r.length,
                        "encoding": cell.encoding, "verdict": _shared(cell), **_learned(task, cell.encoding),
                        **_numbers(cell.interval), "unranked": cell.unranked,
                        "normalized": cell.normalized, "reach": reach.get(cell.encoding),
                        "chance": r.chance, "floor": r.floor, "sequences": r.sequences,
                    }  # fmt: skip


def _shared(cell: Cell) -> str | None:
    return "mixed" if len(cell.words) > 1 else cell.word and cell.word.value


def _learned(task: TaskAnalysis, encoding: str) -> dict[str, int | None]:
    learned, of = task.learned.get(encoding, (None, None))
    return {"learned": learned, "of": of}


def _numbers(mean: Interval | None) -> dict[str, float | int | None]:
    """A mean with its 95 % interval, extremes, and over how many seeds."""
    if mean is None:
        return {"mean": None, "low": None, "high": None, "minimum": None, "maximum": None, "n": 0}
    return {name: getattr(mean, name) for name in ("mean", "low", "high", "minimum", "maximum", "n")}
