"""What a study will take at most, and how to make one that takes no longer than a given time."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from ordinate.core.errors import InputError
from ordinate.statistics.holm import seeds_needed
from ordinate.statistics.looks import MOST
from ordinate.studies.plan import PILOT_SHARE, Study
from ordinate.studies.time_left import EARLY
from ordinate.training import RunConfig
from ordinate.training.config import DIM
from ordinate.training.timing import Estimate, estimate

TOGETHER = 0.94  # how fast a run goes beside others, against alone: workers share memory and caches
REPORT = 20.0  # seconds that workers need to start, baselines to be measured and a report to be written
WIDTHS, BUDGETS = (DIM, 48, 32), (1.0, 0.75, 0.5, 0.35, 0.25)  # tried in this order

Estimates = Mapping[tuple[str, str], Estimate]  # by task and encoding


@dataclass(frozen=True)
class Cost:
    """If every run goes to the end of its budget and no grid of learning rates grows."""

    seconds: float  # as busy as the machine is now
    bytes: float
    least: float  # seconds on a quiet machine, if every run that may end early does so


def estimates(study: Study) -> dict[tuple[str, str], Estimate]:
    """Each encoding on each task is timed: some take several times as long as others."""
    return {(task, encoding): estimate(base) for task, encoding, base in study.bases}


def runs_of(study: Study, base: RunConfig) -> float:
    """How many whole runs one encoding does on one task, the short ones of the sweep counted by their steps."""
    share = 1 if base.budget == "fixed" else 1 / PILOT_SHARE
    return (MOST if study.seeds == "auto" else study.seeds) + share * len(study.rates)


def cost(study: Study, timed: Estimates, workers: int) -> Cost:
    """Of all of it, with so many workers."""
    seconds = size = least = 0.0
    for task, encoding, base in study.bases:
        one = timed[task, encoding]
        count = (MOST if study.seeds == "auto" else study.seeds) + len(study.rates)
        steps, scoring = one.step * base.steps * runs_of(study, base), one.scoring * count
        seconds += (steps + scoring) * one.busy
        least += steps * (1.0 if base.budget == "fixed" else EARLY) + scoring
        size += one.bytes * count
    together = max(1, workers)
    speed = together * (TOGETHER if together > 1 else 1.0)
    return Cost(seconds / speed, size, least / speed)


def within(seconds: float, make: Callable[[int | None], Study], workers: int, taken: Collection[str]) -> Study:
    """The study that takes no longer and gives up least: first width, then budget, then seeds, as few as allow a claim.

    `make` plans it with another width; what the user has set (`taken`) is never given up. The time is that of all runs
    to the end of their budgets, so the study may well be done sooner.
    """
    whole, shortest = make(None), float("inf")
    studies = {None: whole} if {"dim", "preset"} & set(taken) else {None: whole} | _narrower(make)
    budgets = BUDGETS if not {"steps", "epochs"} & set(taken) else BUDGETS[:1]
    for width, study in studies.items():
        timed, last = estimates(study), width == list(studies)[-1]
        assert isinstance(study.seeds, int)
        fewest = study.seeds if "seeds" in taken else min(study.seeds, seeds_needed(study.tests))
        for share, seeds in [
            *((share, study.seeds) for share in (budgets if last else budgets[:1])),
            *((budgets[-1], fewer) for fewer in range(study.seeds - 1, fewest - 1, -1) if last),
        ]:
            lesser = _lesser(study, share, seeds, width)
            takes = REPORT + cost(lesser, timed, workers).seconds
            shortest = min(shortest, takes)
            if takes <= seconds:
                return lesser
    raise InputError(
        f"{seconds:.0f} s are too short for any claim about these encodings: "
        f"allow {shortest:.0f} s, name fewer encodings or tasks, or take a first look with --quick"
    )


def _narrower(make: Callable[[int | None], Study]) -> dict[int | None, Study]:
    """The same study at lesser widths; one that some encoding or the heads do not allow is passed over."""
    studies: dict[int | None, Study] = {}
    for width in WIDTHS[1:]:
        with suppress(InputError):
            studies[width] = make(width)
    return studies


def _lesser(study: Study, share: float, seeds: int, width: int | None) -> Study:
    """The same with a part of the budget and of the seeds; it says what it gave up."""
    gave_up = [f"width {width} in place of {DIM}"] if width else []
    gave_up += [f"{share:.0%} of the budget"] if share < 1 else []
    gave_up += [f"{seeds} seeds in place of {study.seeds}"] if seeds != study.seeds else []
    bases = tuple((t, e, c.again(c.seed, c.lr, max(1, round(share * c.steps)))) for t, e, c in study.bases)
    return replace(study, bases=bases, seeds=seeds, gave_up=tuple(gave_up))
