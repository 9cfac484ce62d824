"""What a comparison of language models will take: runs, time and disk."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ordinate.lm.config import Options
from ordinate.lm.evaluation.config import EvalConfig
from ordinate.lm.hardware import matmul_rate
from ordinate.lm.ranks import Ranks
from ordinate.lm.sizes import flops_per_token
from ordinate.lm.trainer import LMTrainer
from ordinate.statistics.holm import score_tests, seeds_needed
from ordinate.statistics.phrases import counted
from ordinate.studies.lm.comparison import LMComparison, ModelRun
from ordinate.studies.lm.work import Workplace
from ordinate.studies.time_left import range_words
from ordinate.training import environment

BUSY = 1.3  # times as long as on a quiet machine, from where on it is said
STATE = 12  # bytes for each weight in a checkpoint: the weight and its two moments
CHECKPOINTS = 2  # that a run leaves: of its trunk and of its branch
LARGE_STEP = 3e12  # operations of a step that is not timed
FORWARD = 3.0  # times as many tokens are read in evaluation as are trained on in the same time
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
        read = sum(evaluation_tokens(run.evaluation, run.config.model.length) for run in missing)
        work = (tokens + read / FORWARD) / max(1, min(workers, len(missing)))
        least, seconds = (work * each for each in _seconds_per_token(missing[0], place))
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


def _seconds_per_token(run: ModelRun, place: Workplace) -> tuple[float, float]:
    """Of training with one thread: of its own time, and by the clock."""
    config, device = run.config, torch.device(place.device)
    with environment.prepared(1, place.device):
        if flops_per_token(config.model) * config.step_tokens > LARGE_STEP:
            seconds = flops_per_token(config.model) / (matmul_rate(device, getattr(torch, config.precision)) / 2)
            return seconds, seconds
        trainer = LMTrainer(config, place.corpus, Options(device=place.device), Ranks(), run.branch)
        trainer.train_step()  # allocates
        clock, own = time.perf_counter(), time.process_time()
        trainer.train_step()
        taken, used = time.perf_counter() - clock, time.process_time() - own
    return min(taken, used if device.type == "cpu" else taken) / config.step_tokens, taken / config.step_tokens


def evaluation_tokens(config: EvalConfig, length: int) -> int:
    """About how many tokens an evaluation of text reads; the rest of it is small."""
    text = config.text
    overlap = {"disjoint": 1.0, "sliding": 1 / text.stride}
    windows = sum(overlap[kind] for kind in text.windows) * len(text.contexts) * text.tokens
    scored = max(1, length // 2)
    targets = sum(text.targets * max(2.0, multiple * length / scored) for multiple in _multiples(text.contexts, config))
    return round(text.overall + windows + targets)


def _multiples(contexts: Sequence[float], config: EvalConfig) -> list[float]:
    """Contexts of the same targets, those past the trained length once more for each scaling."""
    every = sorted({*contexts, *config.text.more_contexts})
    return every + [multiple for multiple in every if multiple > 1] * len(config.scaling)
