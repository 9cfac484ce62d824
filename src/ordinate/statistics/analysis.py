"""All that the scores of a comparison say: cells, pairs, ranks, alarms and a verdict in words, as plain data."""

from dataclasses import dataclass, field

from ordinate.statistics.interval import Interval
from ordinate.statistics.observation import Direction, Split
from ordinate.statistics.ranks import Ranks


@dataclass(frozen=True)
class Cell:
    """One encoding on one range."""

    encoding: str
    word: str  # "solves", "mixed: 3 solve, 2 fit", "did not fit (0.63)"; empty for a task scored by loss
    words: dict[str, int]  # how many seeds have which word
    seeds: tuple[int, ...]
    scores: tuple[float | None, ...]  # of all seeds, in their order
    counted: tuple[bool, ...]  # which of them may be reported here: out of distribution, those that fitted
    interval: Interval | None  # of the mean over those that count
    normalised: float | None  # that mean: 0 at chance, 1 when all is right


@dataclass(frozen=True)
class Pair:
    """Two encodings on one range, seed by seed; `better` has the higher mean (for a loss, the lower)."""

    better: str
    worse: str
    seeds: int  # compared: both had to count
    difference: Interval | None  # better minus worse, in the score's own unit
    p: float | None
    corrected: float | None  # by Holm, over all pairs of this task and range
    claim: bool
    remark: str


@dataclass(frozen=True)
class Range:
    """One split at one length."""

    split: Split
    length: int
    chance: float
    floor: float
    sequences: int | None
    cells: tuple[Cell, ...]  # best first
    pairs: tuple[Pair, ...]
    ranks: Ranks | None  # over seeds

    @property
    def name(self) -> str:
        words = {"valid": "validation", "id": "in distribution", "ood": "longer", "shift": "shifted"}
        return f"{words[self.split]} {self.length}"


@dataclass(frozen=True)
class Alarm:
    """Something that a reader must know before believing a table."""

    kind: str  # floor | ceiling | grid edge | gate | seeds | overlap | sets | sizes | diverged
    text: str


@dataclass(frozen=True)
class TaskAnalysis:
    """One task."""

    task: str
    family: str
    direction: Direction
    bar: float | None
    encodings: tuple[str, ...]  # best first, on the headline range
    seeds: tuple[int, ...]
    seeds_needed: int  # for a claim about any pair
    ranges: tuple[Range, ...]  # id, then ood, then shift, by length
    headline: int  # which of the ranges ranks the task: the shortest longer one, else a shifted one, else the last
    fits: dict[str, tuple[int, int]]  # encoding: seeds that passed the gate, of how many
    fit_pairs: tuple[Pair, ...]  # their rates compared
    verdict: tuple[str, ...]  # sentences
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True)
class Analysis:
    """A whole comparison."""

    tasks: tuple[TaskAnalysis, ...]
    encodings: tuple[str, ...]
    alpha: float
    families: dict[str, Ranks] = field(default_factory=dict)  # family of tasks: ranks over its tasks, where it has two
    limits: tuple[str, ...] = ()  # what the data do not tell
    preliminary: tuple[str, ...] = ()  # rules that were relaxed

    def records(self) -> list[dict[str, str | int | float | None]]:
        """One for each task, range and encoding."""
        return [
            {
                "task": task.task, "range": r.name, "split": r.split, "length": r.length, "encoding": cell.encoding,
                "word": cell.word, **_fits(task, cell.encoding), **_numbers(cell.interval),
                "normalised": cell.normalised, "chance": r.chance, "floor": r.floor, "sequences": r.sequences,
            }
            for task in self.tasks
            for r in task.ranges
            for cell in r.cells
        ]  # fmt: skip


def _fits(task: TaskAnalysis, encoding: str) -> dict[str, int | None]:
    fitted, of = task.fits.get(encoding, (None, None))
    return {"fitted": fitted, "of": of}


def _numbers(found: Interval | None) -> dict[str, float | int | None]:
    """A mean with its 95 % interval, extremes, and over how many seeds."""
    if found is None:
        return {"mean": None, "low": None, "high": None, "minimum": None, "maximum": None, "n": 0}
    return {name: getattr(found, name) for name in ("mean", "low", "high", "minimum", "maximum", "n")}
