"""Timing several things in turns, so that whatever else the machine does hits all of them alike."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """One comparison: a ratio, what was required and what was hoped for."""

    what: str
    against: str
    ratio: float
    low: float  # the 10th and 90th percentile of the ratios of single rounds
    high: float
    required: str = ""
    goal: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        if not self.required:
            return ""
        sign, bound = self.required.split()
        return "ok" if (self.ratio <= float(bound) if sign == "<=" else self.ratio >= float(bound)) else "MISSED"

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"verdict": self.verdict}


def in_turns(things: dict[str, Callable[[], object]], *, rounds: int, warmup: int = 3) -> dict[str, list[float]]:
    """Seconds of each thing in each round; the order within a round goes round."""
    for _ in range(warmup):
        for run in things.values():
            run()
    times: dict[str, list[float]] = {name: [] for name in things}
    names = list(things)
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            shift = turn % len(names)
            for name in names[shift:] + names[:shift]:
                start = time.perf_counter()
                things[name]()
                times[name].append(time.perf_counter() - start)
    finally:
        gc.enable()
    return times


def compare(
    times: dict[str, list[float]], what: str, against: str, *, required: str = "", goal: str = "", speed: bool = False
) -> Row:
    """Best time of one over best time of the other; for `speed` the other way round (how many times faster)."""
    a, b = times[what], times[against]
    if speed:
        a, b = b, a
    single = [x / y for x, y in zip(a, b, strict=True)]
    cuts = statistics.quantiles(single, n=10) if len(single) > 1 else [single[0]] * 9
    return Row(what, against, min(a) / min(b), cuts[0], cuts[-1], required, goal, min(times[what]))
