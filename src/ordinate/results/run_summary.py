"""One row about a run, as lists of runs show it."""

from dataclasses import dataclass
from typing import Literal

from ordinate.statistics.observations import Split

RunState = Literal["done", "running", "failed", "interrupted"]  # as its folder shows it
ShownState = RunState | Literal["diverged", "damaged"]


@dataclass(frozen=True, slots=True)
class OutsideScore:
    split: Split
    length: int
    score: float | None
    verdict: str  # empty: the task is scored by loss


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run is, how far it is, and its scores once it is done."""

    run: str
    task: str
    encoding: str
    seed: int | None  # None, as other numbers: the run is damaged
    rate: float | None
    state: ShownState
    step: int | None
    steps: int | None  # the budget
    started: str  # as 2026-01-31 12:00:00
    error: str = ""
    settings: str = ""  # the hash of all settings but the seed
    inside: float | None = None  # the score at the longest length in distribution
    outside: tuple[OutsideScore, ...] = ()
    headline: str = ""  # the name of the range that encodings are tested on
    score: float | None = None  # there; None for a run that did not learn the task
    word: str = ""  # the verdict there
    learned_at: int | None = None  # the step at which a run that learned the task reached the bar
    training: str = ""  # how training ended, in a few words; empty: the task is scored by loss
    seconds: float | None = None
