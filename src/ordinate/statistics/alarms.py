"""What a reader must know before believing a table, found in the scores themselves."""

from collections.abc import Iterator, Mapping, Sequence

from ordinate.statistics.analysis import Alarm, Range
from ordinate.statistics.band import band
from ordinate.statistics.observation import Observation

CEILING = 0.99  # a common score above it needs no explanation
NOISE = 0.005  # where the number of sequences is unknown
SHOWN = 0.01  # the share of an evaluation set that training may show too
LARGE = 5.0  # times the token embeddings: what an encoding adds may then decide by its size alone


def oversized(added: float | None, embedding: float | None) -> bool:
    """Whether what an encoding adds is so much larger than the token embeddings that its size may decide."""
    return (added or 0.0) > LARGE * (embedding or 0.0)


def alarms_of(
    items: Sequence[Observation],
    ranges: Sequence[Range],
    learnt: Mapping[str, tuple[int, int]],
    pairs: int,
    seeds_needed: int,
) -> list[Alarm]:
    """All alarms that the scores of one task raise; `learnt` is empty where there is nothing to tell it by."""
    alarms = [*_seeds(items, pairs, seeds_needed), *_sets(items), *_overlap(items), *_diverged(items)]
    if items[0].bar is not None:
        nobody = bool(learnt) and not any(good for good, _ in learnt.values())
        # Where nobody learnt the task, that nobody can do it at other lengths is no news.
        alarms += [a for r in ranges for a in _level(r) if r.split == "id" or a.kind != "floor" or not nobody]
        short = {encoding: [good, of] for encoding, (good, of) in learnt.items() if good < of}
        alarms += [Alarm("gate", {"learnt": short})] if short else []
    return alarms


def _level(r: Range) -> Iterator[Alarm]:
    """All encodings at one score: at the floor nothing was learnt, below the top the data may be at fault."""
    scores = [[s for s in cell.scores if s is not None] for cell in r.cells]
    means = [sum(s) / len(s) for s in scores if s]
    if len(means) < 2:
        return
    middle, place = sum(means) / len(means), {"split": r.split, "length": r.length}
    if max(means) <= (r.floor + NOISE if r.sequences is None else band(r.floor, r.sequences)[1]):
        yield Alarm("floor", {**place, "floor": r.floor})
        return
    low, high = (middle - NOISE, middle + NOISE) if r.sequences is None else band(middle, r.sequences)
    if max(means) < CEILING and low <= min(means) and max(means) <= high:
        yield Alarm("ceiling", {**place, "low": min(means), "high": max(means)})


def _seeds(items: Sequence[Observation], pairs: int, needed: int) -> Iterator[Alarm]:
    own: dict[str, set[int]] = {}
    for item in items:
        own.setdefault(item.encoding, set()).add(item.seed)
    n = len({item.seed for item in items})
    if needed > n:
        yield Alarm("seeds", {"seeds": n, "needed": needed, "pairs": pairs})
    short = {encoding: len(seeds) for encoding, seeds in own.items() if len(seeds) < n}
    if short:
        yield Alarm("unequal", {"seeds": n, "fewer": short})


def _sets(items: Sequence[Observation]) -> Iterator[Alarm]:
    hashes: dict[tuple[str, int], set[str]] = {}
    for item in items:
        hashes.setdefault((item.split, item.length), set()).add(item.hash)
    differing = [[split, length] for (split, length), known in hashes.items() if len(known) > 1]
    if differing:
        yield Alarm("sets", {"ranges": differing})


def _overlap(items: Sequence[Observation]) -> Iterator[Alarm]:
    shares: dict[tuple[str, int], float] = {}
    for item in items:
        if item.seen is not None:
            shares[item.split, item.length] = max(item.seen, shares.get((item.split, item.length), 0.0))
    much = [[split, length, share] for (split, length), share in shares.items() if share > SHOWN]
    if much:
        yield Alarm("overlap", {"ranges": much})


def _diverged(items: Sequence[Observation]) -> Iterator[Alarm]:
    """Runs that diverged, and those that came to no number only beyond what they were trained on."""
    runs = {(item.encoding, item.seed) for item in items if item.diverged}
    fine = {(item.encoding, item.seed) for item in items if item.split == "id" and item.score is not None}
    if runs - fine:
        yield Alarm("diverged", {"runs": [list(run) for run in sorted(runs - fine)]})
    if runs & fine:
        yield Alarm("diverged", {"runs": [list(run) for run in sorted(runs & fine)], "beyond": True})
