"""What a reader must know before believing a table, found in the scores themselves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ordinate.statistics.distributions import band
from ordinate.statistics.observations import RangeKey
from ordinate.statistics.types import Alarm, Range

CEILING = 0.99  # a common score above it needs no explanation
NOISE = 0.005  # where the number of sequences is unknown
SHOWN = 0.01  # the share of an evaluation set that training may show too
LARGE = 5.0  # times the token embeddings: what an encoding adds may then decide by its size alone


@dataclass(frozen=True)
class Facts:
    """What the alarms of a task are about, besides its ranges."""

    bar: float | None
    seeds: int  # of all encodings together
    own_seeds: Mapping[str, int]  # of each encoding
    diverged: Sequence[tuple[str, int]]  # encodings and seeds
    diverged_beyond: Sequence[tuple[str, int]]  # of which the score in distribution is a number
    differing: Sequence[RangeKey] = ()  # ranges on which not all runs had the same problems
    seen: Mapping[RangeKey, float] = field(default_factory=dict)  # range: the largest share that training showed


def oversized(added: float | None, embedding: float | None) -> bool:
    """Whether what an encoding adds is so much larger than the token embeddings that its size may decide."""
    return (added or 0.0) > LARGE * (embedding or 0.0)


def alarms_of(
    task: Facts,
    ranges: Sequence[Range],
    learned: Mapping[str, tuple[int, int]],
    pairs: int,
    seeds_needed: int,
) -> list[Alarm]:
    """All alarms that the scores of one task raise; `learned` is empty where there is nothing to tell it by."""
    alarms = [*_seeds(task, pairs, seeds_needed), *_places(task), *_diverged(task)]
    if task.bar is not None:
        nobody = bool(learned) and not any(good for good, _ in learned.values())
        # Where nobody learned the task, that nobody can do it at other lengths is no news.
        alarms += [a for r in ranges for a in _level(r) if r.split == "id" or a.kind != "floor" or not nobody]
        short = {encoding: [good, of] for encoding, (good, of) in learned.items() if good < of}
        alarms += [Alarm("gate", {"learned": short})] if short else []
    return alarms


def _level(r: Range) -> Iterator[Alarm]:
    """All encodings at one score: at the floor nothing was learned, below the top the data may be at fault."""
    scores = [[s for s in cell.scores if s is not None] for cell in r.cells]
    means = [sum(s) / len(s) for s in scores if s]
    if len(means) < 2:
        return
    middle, place = sum(means) / len(means), {"split": r.split, "length": r.length}
    if max(means) <= (r.floor + NOISE if r.sequences is None else band(r.floor, r.sequences)[1]):
        yield Alarm("floor", {**place, "floor": r.floor})
        return
    if max(means) >= CEILING:
        return
    low, high = (middle - NOISE, middle + NOISE) if r.sequences is None else band(middle, r.sequences)
    if low <= min(means) and max(means) <= high:
        yield Alarm("ceiling", {**place, "low": min(means), "high": max(means)})


def _seeds(task: Facts, pairs: int, needed: int) -> Iterator[Alarm]:
    n = task.seeds
    if needed > n:
        yield Alarm("seeds", {"seeds": n, "needed": needed, "pairs": pairs})
    short = {encoding: seeds for encoding, seeds in task.own_seeds.items() if 0 < seeds < n}
    if short:
        yield Alarm("unequal", {"seeds": n, "fewer": short})


def _places(task: Facts) -> Iterator[Alarm]:
    if task.differing:
        yield Alarm("sets", {"ranges": [list(place) for place in task.differing]})
    much = [[*place, share] for place, share in task.seen.items() if share > SHOWN]
    if much:
        yield Alarm("overlap", {"ranges": much})


def _diverged(task: Facts) -> Iterator[Alarm]:
    """Runs that diverged, and those that came to no number only beyond what they were trained on."""
    if task.diverged:
        yield Alarm("diverged", {"runs": [list(run) for run in sorted(task.diverged)]})
    if task.diverged_beyond:
        yield Alarm("diverged", {"runs": [list(run) for run in sorted(task.diverged_beyond)], "beyond": True})
