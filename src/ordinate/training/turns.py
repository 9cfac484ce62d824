"""Timing several things in turns, so that whatever else the machine does hits all of them alike."""

import gc
import time
from collections.abc import Callable, Mapping


def in_turns(things: Mapping[str, Callable[[], object]], *, rounds: int, warmup: int = 3) -> dict[str, list[float]]:
    """Seconds of each thing in each round; the order within a round goes round."""
    for _ in range(warmup):
        for run in things.values():
            run()
    times: dict[str, list[float]] = {name: [] for name in things}
    names = list(things)
    collecting = gc.isenabled()
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
        if collecting:
            gc.enable()
    return times
