"""What a comparison of language models will take: runs, time and disk."""

from collections.abc import Sequence
from dataclasses import dataclass

from ordinate.lm.pace import pace
from ordinate.statistics.holm import score_tests, seeds_needed
from ordinate.statistics.phrases import counted
from ordinate.studies.lm.comparison import LMComparison, ModelRun
from ordinate.studies.lm.evaluation_cost import evaluation_cost
from ordinate.studies.lm.work import Workplace
from ordinate.studies.time_left import range_words
from ordinate.training import environment

BUSY = 1.3  # times as long as on a quiet machine, from where on it is said
STATE = 12  # bytes for each weight in a checkpoint: the weight and its two moments
CHECKPOINTS = 2  # that a run leaves: of its trunk and of its branch
ENDPOINTS = 3  # at the trained length, at twice it, and over all longer ones


@dataclass(frozen=True)
class LMForecast:
    """How much there is to do."""

    runs: int
    missing: tuple[ModelRun, ...]
    tokens: int  # to train on
    least: float  # seconds with all workers, if nothing else used the machine
    seconds: float  # as busy as it is
    bytes: int
    workers: int

    @property
    def line(self) -> str:
        """In words."""
        if not self.missing:
            return f"{counted(self.runs, 'run')}, all done"
        work = (
            f"{counted(self.runs, 'run')}, {self.runs - len(self.missing):,} done; {self.tokens:,} tokens to train on"
        )
        time_needed = f"{range_words((self.least, self.seconds))} with {counted(self.workers, 'worker')}"
        time_needed += ", on a machine that is busy now" * (self.seconds > BUSY * self.least)
        return f"{work}; {time_needed}; {max(1, round(self.bytes / 1e6)):,} MB"


def forecast(runs: Sequence[ModelRun], place: Workplace, workers: int) -> LMForecast:
    """Time is from a few steps of the first missing run, or from the machine's speed where a step takes long."""
    missing = tuple(run for run in runs if place.checkpoints.find(run) is None)
    tokens = sum(run.branch.end * run.config.step_tokens for run in missing)
    least = seconds = 0.0
    if missing:
        work = (tokens + sum(map(evaluation_cost, missing))) / max(1, min(workers, len(missing)))
        with environment.prepared(1, place.device):
            found = pace(missing[0].config, missing[0].branch, place.corpus, place.device)
        least, seconds = work * found.own, work * found.clock
    size = sum(CHECKPOINTS * STATE * run.config.model.weights for run in missing)
    return LMForecast(len(runs), missing, tokens, least, seconds, size, max(1, workers))


def few_seeds_words(comparison: LMComparison) -> str:
    """That a comparison has too few seeds for a claim; empty if it has enough."""
    endpoints = ENDPOINTS if comparison.protocol == "disjoint" else ENDPOINTS - 1
    tests = score_tests([len(comparison.arms)], endpoints)
    needed = seeds_needed(tests) if tests else 0
    if comparison.seeds >= needed:
        return ""
    return f"{counted(comparison.seeds, 'seed')} can claim nothing about two encodings: that takes {needed} seeds"
