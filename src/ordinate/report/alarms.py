"""A sentence for each kind of alarm: who, what, and what to do."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ordinate.statistics.observations import range_name
from ordinate.statistics.phrases import called, counted, listed, seeds
from ordinate.statistics.types import Alarm

Facts = dict[str, Any]


MOST_ALIKE = 12  # alarms of one kind on a task that are told one by one


def alarm_lines(alarms: Sequence[Alarm]) -> Iterator[tuple[str, str]]:
    """The kind and the words of each; where hundreds are of one kind, the first few and how many more there are."""
    counts, told = Counter(alarm.kind for alarm in alarms), Counter[str]()
    for alarm in alarms:
        told[alarm.kind] += 1
        if told[alarm.kind] <= MOST_ALIKE:
            yield alarm.kind, alarm_text(alarm)
        elif told[alarm.kind] == counts[alarm.kind]:
            yield (
                alarm.kind,
                f"the same at {counts[alarm.kind] - MOST_ALIKE:,} more ranges, all of them in the JSON report",
            )


def alarm_text(alarm: Alarm) -> str:
    """Plain words."""
    return _SENTENCES[alarm.kind](alarm.facts)


def _floor(f: Facts) -> str:
    where, floor = range_name(f["split"], f["length"]), f"the floor ({f['floor']:.3f})"
    if f["split"] == "id":
        return f"{where}: every encoding is at {floor}, so nothing was learned: train longer or make the task easier"
    return f"{where}: every encoding is at {floor}, so none can do there what it learned: nothing can be compared there"


def _ceiling(f: Facts) -> str:
    where, span = range_name(f["split"], f["length"]), f"{f['low']:.3f} to {f['high']:.3f}"
    return f"{where}: every encoding has the same score within noise ({span}): suspect the data before the encodings"


def _gate(f: Facts) -> str:
    whose = listed([f"{called(encoding)} in {good} of {of}" for encoding, (good, of) in f["learned"].items()])
    return f"not every seed learned the task: {whose}; seeds that did not are not scored at longer lengths"


def _seeds(f: Facts) -> str:
    pairs = f"{counted(f['pairs'], 'pair')} of encodings"
    verb = "is" if f["seeds"] == 1 else "are"
    return f"there {verb} {seeds(f['seeds'])}, and a claim among {pairs} takes {f['needed']}"


def _unequal(f: Facts) -> str:
    whose = listed([f"{called(encoding)} has {n}" for encoding, n in f["fewer"].items()])
    return f"not all encodings have the same {seeds(f['seeds'])}: {whose}"


def _sets(f: Facts) -> str:
    return f"not all runs were scored on the same problems: {listed([range_name(*place) for place in f['ranges']])}"


def _overlap(f: Facts) -> str:
    parts = [f"{share:.0%} of {range_name(split, length)}" for split, length, share in f["ranges"]]
    return f"training showed problems that scores are taken on: {listed(parts)}"


def _diverged(f: Facts) -> str:
    what = "a score beyond the trained length is no number" if f.get("beyond") else "training diverged"
    return f"{what}: {listed([f'{called(encoding)} (seed {seed})' for encoding, seed in f['runs']])}"


def _unfinished(f: Facts) -> str:
    return f"{f['done']} of {f['runs']} runs are there: what follows is not the whole"


def _grid_edge(f: Facts) -> str:
    return f"{called(f['encoding'])}: the best learning rate ({f['rate']:g}) is the {f['side']} that was tried"


def _no_rate(f: Facts) -> str:
    return f"{called(f['encoding'])}: no learning rate led to a score on the pilot seed"


def _sizes(f: Facts) -> str:
    many = "far larger than" if f["times"] is None else f"{f['times']:.0f} times as large as"
    return (
        f"what {called(f['encoding'])} adds is {many} the token embeddings at the start, so its result may come from "
        "that size: set size=1 to match them"
    )


def _failed(f: Facts) -> str:
    return f"{called(f['encoding'])}: {f['failed']} of {f['of']} {f['what']} failed: {f['error']}"


def _damaged(f: Facts) -> str:
    return f"{called(f['encoding'])}: run {f['run']} (seed {f['seed']}) cannot be read and is left out: {f['error']}"


_SENTENCES: dict[str, Callable[[Facts], str]] = {
    "floor": _floor,
    "ceiling": _ceiling,
    "gate": _gate,
    "seeds": _seeds,
    "unequal": _unequal,
    "sets": _sets,
    "overlap": _overlap,
    "diverged": _diverged,
    "unfinished": _unfinished,
    "grid edge": _grid_edge,
    "no rate": _no_rate,
    "sizes": _sizes,
    "failed": _failed,
    "damaged": _damaged,
}
