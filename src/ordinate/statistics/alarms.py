"""Alarms: what a reader must know before believing a table. Each is one class: its check, its facts, its sentence.

A new alarm is one more class here: its check sees every task, and its sentence is in all forms of the report.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from ordinate.statistics.distributions import band
from ordinate.statistics.looks import MARGIN
from ordinate.statistics.observations import RangeKey, Split, range_name
from ordinate.statistics.phrases import called, listed, seeds
from ordinate.statistics.types import Alarm, Basis, Contrast, Range, TaskEvidence
from ordinate.statistics.words import Word

CEILING = 0.99  # a common score above it needs no explanation
NOISE = 0.005  # where the number of sequences is unknown
SHOWN = 0.01  # the share of an evaluation set that training may show too
LARGE = 5.0  # times the token embeddings: the size of what an encoding adds may then decide the result
MOST_ALIKE = 12  # alarms of one kind on a task that are listed one by one


def alarms_of(task: TaskEvidence) -> tuple[Alarm, ...]:
    """All alarms of one task, in the order in which their classes are defined."""
    return tuple(alarm for kind in Alarm.every for alarm in kind.check(task))


def alarm_lines(alarms: Sequence[Alarm]) -> Iterator[tuple[str, str]]:
    """The kind and the sentence of each; of hundreds of one kind the first few and the number of the others."""
    counts, listed_so_far = Counter(alarm.kind for alarm in alarms), Counter[str]()
    for alarm in alarms:
        listed_so_far[alarm.kind] += 1
        if listed_so_far[alarm.kind] <= MOST_ALIKE:
            yield alarm.kind, alarm.sentence()
        elif listed_so_far[alarm.kind] == counts[alarm.kind]:
            more = counts[alarm.kind] - MOST_ALIKE
            yield alarm.kind, f"the same at {more:,} more ranges, all of them in the JSON report"


@dataclass(frozen=True)
class Unfinished(Alarm, kind="unfinished"):
    """Some planned runs have no result yet: the same command does them."""

    done: int
    runs: int

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        if task.study.done < task.study.runs:
            yield cls(task.study.done, task.study.runs)

    def sentence(self) -> str:
        return f"{self.done} of {self.runs} runs are done: these results are not complete"


@dataclass(frozen=True)
class GridEdge(Alarm, kind="grid edge"):
    """The best learning rate is the largest or the smallest of the sweep: set others with `--rates`."""

    encoding: str
    rate: float
    side: Literal["largest", "smallest"]

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        for arm in task.study.arms:
            if arm.edge is not None and arm.rate is not None:
                yield cls(arm.encoding, arm.rate, arm.edge)

    def sentence(self) -> str:
        return f"{called(self.encoding)}: the best learning rate ({self.rate:g}) is the {self.side} that was tried"


@dataclass(frozen=True)
class NoRate(Alarm, kind="no rate"):
    """No learning rate of the sweep led to a score: check the settings, or set others with `--rates`."""

    encoding: str

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        return (cls(arm.encoding) for arm in task.study.arms if arm.edge is not None and arm.rate is None)

    def sentence(self) -> str:
        return f"{called(self.encoding)}: no learning rate led to a score on the pilot seed"


@dataclass(frozen=True)
class RateMatters(Alarm, kind="rate"):
    """Learning rates that tie in distribution move an endpoint by more than what is, or could be, claimed."""

    encoding: str
    where: str  # the headline range, or all lengths
    means: Mapping[float, float]  # learning rate: the mean of its seeds
    claimed: float | None  # the smallest difference that is claimed of the encoding

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        for arm in task.study.arms:
            cell = task.shown.cell(arm.encoding)
            columns = zip(cell.seeds, cell.scores, cell.counted, strict=True)
            headline = {seed: score for seed, score, counts in columns if counts}
            areas = task.areas.get(arm.encoding, {})
            for basis, where, values in (
                (Basis.SCORES, f"at {task.shown.name}", headline),
                (Basis.AREA, "over all lengths", areas),
            ):
                means = _means_by_rate(arm.rates, values)
                claims = [abs(pair.difference.mean) for pair in task.pairs if _claims(pair, basis, arm.encoding)]
                claimed = min(claims, default=None)
                spread = max(means.values(), default=0.0) - min(means.values(), default=0.0)
                if spread > (MARGIN if claimed is None else claimed):
                    yield cls(arm.encoding, where, means, claimed)
                    break  # one endpoint says enough

    def sentence(self) -> str:
        by_rate = listed([f"{mean:.3f} at {rate:g}" for rate, mean in self.means.items()])
        what = (
            "and the verdict claims no difference of it there"
            if self.claimed is None
            else (f"by more than the smallest difference that is claimed of it, {self.claimed:.3f}")
        )
        tied = f"{called(self.encoding)}: learning rates that tie in distribution differ {self.where}"
        return f"{tied} ({by_rate}), {what}"


def _means_by_rate(rates: Mapping[int, float], values: Mapping[int, float | None]) -> dict[float, float]:
    """The mean of the seeds of each learning rate."""
    by_rate: dict[float, list[float]] = {}
    for seed, value in values.items():
        if value is not None and seed in rates:
            by_rate.setdefault(rates[seed], []).append(value)
    return {rate: sum(own) / len(own) for rate, own in sorted(by_rate.items())}


@dataclass(frozen=True)
class UndealtRates(Alarm, kind="undealt"):
    """There are fewer seeds than tied learning rates, so that some of these are not run."""

    encoding: str
    rates: tuple[float, ...]

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        return (cls(arm.encoding, arm.undealt) for arm in task.study.arms if arm.undealt)

    def sentence(self) -> str:
        rates = listed([f"{rate:g}" for rate in self.rates])
        return f"{called(self.encoding)}: no seed is left for tied learning rates ({rates}): give more --seeds"


def _claims(pair: Contrast, basis: Basis, encoding: str) -> bool:
    return pair.claim and pair.basis is basis and encoding in (pair.better, pair.worse)


@dataclass(frozen=True)
class RaisedSeeds(Alarm, kind="raised"):
    """The same comparison was finished with fewer seeds before, so that its tests were looked at more than once."""

    earlier: tuple[int, ...]

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        if task.study.earlier:
            yield cls(task.study.earlier)

    def sentence(self) -> str:
        return (
            f"finished with {listed([str(n) for n in self.earlier])} seeds before this number was chosen: more looks "
            "raise the risk of a false claim above the stated one; --seeds auto plans its looks beforehand"
        )


@dataclass(frozen=True)
class Oversized(Alarm, kind="sizes"):
    """An encoding adds values that are much larger than the token embeddings: `size=1` matches them."""

    encoding: str
    times: float | None  # none: the embeddings are 0

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        for arm in task.study.arms:
            if oversized(arm.added, arm.embedding):
                yield cls(arm.encoding, arm.added / arm.embedding if arm.added and arm.embedding else None)

    def sentence(self) -> str:
        much = "far larger than" if self.times is None else f"{self.times:.0f} times as large as"
        return (
            f"what {called(self.encoding)} adds is {much} the token embeddings at the start, so its result may come "
            "from that size: set size=1 to match them"
        )


def oversized(added: float | None, embedding: float | None) -> bool:
    """Whether what an encoding adds is so much larger than the token embeddings that its size may decide."""
    return (added or 0.0) > LARGE * (embedding or 0.0)


@dataclass(frozen=True)
class Failed(Alarm, kind="failed"):
    """Runs or pilots of an encoding ended with an error and are left out: the same command retries them."""

    encoding: str
    what: str
    failed: int
    of: int
    error: str

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        for arm in task.study.arms:
            for what, (errors, of) in arm.failed.items():
                if errors:
                    yield cls(arm.encoding, what, len(errors), of, errors[0])

    def sentence(self) -> str:
        return f"{called(self.encoding)}: {self.failed} of {self.of} {self.what} failed: {self.error}"


@dataclass(frozen=True)
class Damaged(Alarm, kind="damaged"):
    """A stored run cannot be read and is left out: `ordinate store check` says how to do it again."""

    encoding: str
    run: str
    seed: int
    rate: float
    error: str

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        return (cls(arm.encoding, *damage) for arm in task.study.arms for damage in arm.damaged)

    def sentence(self) -> str:
        where = f"{called(self.encoding)}: run {self.run} (seed {self.seed})"
        return f"{where} cannot be read and is left out: {self.error}"


@dataclass(frozen=True)
class FewSeeds(Alarm, kind="seeds"):
    """No pair can be claimed with so few seeds: run more with `--seeds`."""

    seeds: int
    needed: int

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        if task.needed > task.seeds:
            yield cls(task.seeds, task.needed)

    def sentence(self) -> str:
        verb = "is" if self.seeds == 1 else "are"
        return f"there {verb} {seeds(self.seeds)}, and a claim about scores takes {self.needed}"


@dataclass(frozen=True)
class UnequalSeeds(Alarm, kind="unequal"):
    """Some encodings have fewer seeds than others: finish or repeat the missing runs."""

    seeds: int
    fewer: Mapping[str, int]

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        fewer = {encoding: n for encoding, n in task.own_seeds.items() if 0 < n < task.seeds}
        if fewer:
            yield cls(task.seeds, fewer)

    def sentence(self) -> str:
        whose = listed([f"{called(encoding)} has {n}" for encoding, n in self.fewer.items()])
        return f"not all encodings have the same {seeds(self.seeds)}: {whose}"


@dataclass(frozen=True)
class DifferentSets(Alarm, kind="sets"):
    """Runs were scored on different evaluation sets: their scores are not comparable."""

    ranges: tuple[RangeKey, ...]

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        if task.differing:
            yield cls(tuple(task.differing))

    def sentence(self) -> str:
        return f"not all runs were scored on the same problems: {listed([range_name(*key) for key in self.ranges])}"


@dataclass(frozen=True)
class Overlap(Alarm, kind="overlap"):
    """Training contained sequences of the evaluation set: the task has too few distinct ones at this length."""

    ranges: tuple[tuple[Split, int, float], ...]

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        much = tuple((*key, share) for key, share in task.seen.items() if share > SHOWN)
        if much:
            yield cls(much)

    def sentence(self) -> str:
        parts = [f"{share:.0%} of {range_name(split, length)}" for split, length, share in self.ranges]
        return f"training showed problems that scores are taken on: {listed(parts)}"


@dataclass(frozen=True)
class DivergedRuns(Alarm, kind="diverged"):
    """Training diverged, or the score beyond the trained length is NaN: try lower learning rates with `--rates`."""

    runs: tuple[tuple[str, int], ...]  # encoding and seed
    beyond: bool = False

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        for runs, beyond in ((task.diverged, False), (task.diverged_beyond, True)):
            if runs:
                yield cls(tuple(sorted(runs)), beyond)

    def sentence(self) -> str:
        what = "the score beyond the trained length is NaN" if self.beyond else "training diverged"
        whose = listed([f"{called(encoding)} (seed {seed})" for encoding, seed in self.runs])
        return f"{what}: {whose}; lower the learning rate"


@dataclass(frozen=True)
class Floor(Alarm, kind="floor"):
    """All encodings are at the floor: none learned the task (train longer, make it easier), or none generalizes."""

    split: Split
    length: int
    floor: float

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        if task.bar is None:
            return
        not_learned = bool(task.learned) and not any(good for good, _ in task.learned.values())
        for r, means in zip(task.ranges, task.means, strict=True):
            # Where no encoding learned the task, the floor on other ranges follows from that.
            if _at_floor(r, means) and (r.split == "id" or not not_learned):
                yield cls(r.split, r.length, r.floor)

    def sentence(self) -> str:
        start = f"{range_name(self.split, self.length)}: every encoding is at the floor ({self.floor:.3f}), so"
        if self.split == "id":
            return f"{start} nothing was learned: train longer or make the task easier"
        return f"{start} none can do there what it learned: nothing can be compared there"


@dataclass(frozen=True)
class Ceiling(Alarm, kind="ceiling"):
    """All encodings have the same score within noise, between the floor and 0.99: suspect the data. Not on a
    positive control, which every encoding should solve."""

    split: Split
    length: int
    low: float
    high: float

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        if task.bar is None or task.study.positive_control:
            return
        for r, means in zip(task.ranges, task.means, strict=True):
            if _at_floor(r, means) or len(means) < 2 or max(means) >= CEILING or min(means) >= task.bar:
                continue
            middle = sum(means) / len(means)
            low, high = (middle - NOISE, middle + NOISE) if r.sequences is None else band(middle, r.sequences)
            if low <= min(means) and max(means) <= high:
                yield cls(r.split, r.length, min(means), max(means))

    def sentence(self) -> str:
        where, span = range_name(self.split, self.length), f"{self.low:.3f} to {self.high:.3f}"
        return (
            f"{where}: every encoding has the same score within noise ({span}): suspect the data before the encodings"
        )


@dataclass(frozen=True)
class Budget(Alarm, kind="budget"):
    """Seeds were below the bar and still rising at the end of their budget: the command gives them more steps."""

    rising: Mapping[str, tuple[int, int, int]]  # encoding: seeds that were rising, of how many, and their budget
    command: str

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        counts = {name: (own.words[Word.STILL_RISING], len(own.ends), own.budget) for name, own in task.steps.items()}
        rising = {name: own for name, own in counts.items() if own[0]}
        if rising:
            yield cls(rising, task.study.longer)

    def sentence(self) -> str:
        whose = [f"{called(name)} ({n} of {seeds(of)}, {at:,} steps)" for name, (n, of, at) in self.rising.items()]
        command = f"  {self.command}" if self.command else ""
        return f"still rising when the budget ended: {listed(whose)}; more steps may change the result:{command}"


@dataclass(frozen=True)
class Gate(Alarm, kind="gate"):
    """Some seeds did not learn the task: they are shown but not ranked at longer lengths."""

    learned: Mapping[str, tuple[int, int]]

    @classmethod
    def check(cls, task: TaskEvidence) -> Iterator[Self]:
        short = {encoding: (good, of) for encoding, (good, of) in task.learned.items() if good < of}
        if short:
            yield cls(short)

    def sentence(self) -> str:
        whose = listed([f"{called(encoding)} in {good} of {of}" for encoding, (good, of) in self.learned.items()])
        return (
            f"not every seed learned the task: {whose}; seeds that did not are shown but not ranked at longer lengths"
        )


def _at_floor(r: Range, means: Sequence[float]) -> bool:
    top = r.floor + NOISE if r.sequences is None else band(r.floor, r.sequences)[1]
    return len(means) >= 2 and max(means) <= top
