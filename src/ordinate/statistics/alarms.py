"""What a reader must know before believing a table, found in the scores themselves."""

from collections.abc import Sequence

from ordinate.statistics.analysis import Alarm, Range, TaskAnalysis
from ordinate.statistics.band import band
from ordinate.statistics.observation import Observation

CEILING = 0.99  # a common score above it needs no explanation
NOISE = 0.005  # where the number of sequences is unknown
SHOWN = 0.01  # the share of an evaluation set that training may show too


def alarms_of(task: TaskAnalysis, items: Sequence[Observation]) -> list[Alarm]:
    """All alarms that the scores of one task raise."""
    found = [*_seeds(task, items), *_sets(items), *_overlap(items), *_diverged(items)]
    if task.bar is not None:
        found += [alarm for r in task.ranges for alarm in _level(task, r)]
        found += _gate(task)
    return found


def _level(task: TaskAnalysis, r: Range) -> list[Alarm]:
    """All encodings at one score: at the floor nothing was learnt, below the top the data may be at fault."""
    scores = [[s for s in cell.scores if s is not None] for cell in r.cells]
    means = [sum(s) / len(s) for s in scores if s]
    if len(means) < 2:
        return []
    middle = sum(means) / len(means)
    if max(means) <= _high(r.floor, r.sequences):
        why = "nothing was learnt" if r.split == "id" else "nothing of what was learnt reaches there"
        text = f"{r.name}: every encoding is at the floor ({r.floor:.3f}): {why}, there is nothing to compare"
        return [Alarm("floor", text)]
    low, high = (middle - NOISE, middle + NOISE) if r.sequences is None else band(middle, r.sequences)
    if max(means) < CEILING and low <= min(means) and max(means) <= high:
        span = f"{min(means):.3f} to {max(means):.3f}"
        text = (
            f"{r.name}: every encoding has the same score within noise ({span}): suspect the data before the encodings"
        )
        return [Alarm("ceiling", text)]
    return []


def _high(floor: float, sequences: int | None) -> float:
    return floor + NOISE if sequences is None else band(floor, sequences)[1]


def _gate(task: TaskAnalysis) -> list[Alarm]:
    failed = {encoding: f"{encoding} {good} of {all_}" for encoding, (good, all_) in task.fits.items() if good < all_}
    if not failed:
        return []
    whose = ", ".join(failed.values())
    text = f"seeds that learnt the task in distribution: {whose}; the others are not compared beyond it"
    return [Alarm("gate", text)]


def _seeds(task: TaskAnalysis, items: Sequence[Observation]) -> list[Alarm]:
    found, n = [], len(task.seeds)
    if task.seeds_needed > n:
        text = f"{n} seed{'s' * (n != 1)}: a claim about {len(task.encodings)} encodings needs {task.seeds_needed}"
        found.append(Alarm("seeds", text))
    own: dict[str, set[int]] = {}
    for item in items:
        own.setdefault(item.encoding, set()).add(item.seed)
    short = {encoding: seeds for encoding, seeds in own.items() if len(seeds) < n}
    if short:
        whose = ", ".join(f"{encoding} {len(seeds)}" for encoding, seeds in short.items())
        found.append(Alarm("seeds", f"unequal seeds ({whose} of {n}): pairs are compared on those that both have"))
    return found


def _sets(items: Sequence[Observation]) -> list[Alarm]:
    hashes: dict[tuple[str, int], set[str]] = {}
    for item in items:
        hashes.setdefault((item.split, item.length), set()).add(item.hash)
    wrong = [f"{split} {length}" for (split, length), known in hashes.items() if len(known) > 1]
    return [Alarm("sets", f"not all runs were scored on the same problems: {', '.join(wrong)}")] if wrong else []


def _overlap(items: Sequence[Observation]) -> list[Alarm]:
    shown: dict[tuple[str, int], float] = {}
    for item in items:
        if item.seen is not None:
            shown[item.split, item.length] = max(item.seen, shown.get((item.split, item.length), 0.0))
    much = [f"{share:.0%} of {split} {length}" for (split, length), share in shown.items() if share > SHOWN]
    return [Alarm("overlap", f"training showed problems of the evaluation: {', '.join(much)}")] if much else []


def _diverged(items: Sequence[Observation]) -> list[Alarm]:
    lost = sorted({(item.encoding, item.seed) for item in items if item.diverged})
    whose = ", ".join(f"{encoding} (seed {seed})" for encoding, seed in lost)
    return [Alarm("diverged", f"training diverged: {whose}")] if lost else []
