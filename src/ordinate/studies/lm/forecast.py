"""What a comparison of language models will take: runs, time and disk."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ordinate.core.display import duration
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
from ordinate.training import environment

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
    seconds: float  # with all workers
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
        time_needed = f"about {duration(self.seconds)} with {counted(self.workers, 'worker')}"
        return f"{work}; {time_needed}; {max(1, round(self.bytes / 1e6)):,} MB"


def forecast(runs: Sequence[ModelRun], place: Workplace, workers: int) -> LMForecast:
    """Time is from a few steps of the first missing run, or from the machine's speed where a step takes long."""
    missing = tuple(run for run in runs if place.checkpoints.find(run) is None)
    tokens = sum(run.branch.end * run.config.step_tokens for run in missing)
    seconds = 0.0
    if missing:
        speed = _tokens_per_second(missing[0], place)
        read = sum(evaluation_tokens(run.evaluation, run.config.model.length) for run in missing)
        seconds = (tokens / speed + read / (FORWARD * speed)) / max(1, min(workers, len(missing)))
    size = sum(CHECKPOINTS * STATE * run.config.model.weights for run in missing)
    return LMForecast(len(runs), missing, tokens, seconds, size, max(1, workers))


def few_seeds_words(comparison: LMComparison) -> str:
    """That a comparison has too few seeds for a claim; empty if it has enough."""
    endpoints = ENDPOINTS if comparison.protocol == "disjoint" else ENDPOINTS - 1
    tests = score_tests([len(comparison.arms)], endpoints)
    needed = seeds_needed(tests) if tests else 0
    if comparison.seeds >= needed:
        return ""
    return f"{counted(comparison.seeds, 'seed')} can claim nothing about two encodings: that takes {needed} seeds"


def _tokens_per_second(run: ModelRun, place: Workplace) -> float:
    """Of training with one thread."""
    config, device = run.config, torch.device(place.device)
    with environment.prepared(1, place.device):
        if flops_per_token(config.model) * config.step_tokens > LARGE_STEP:
            return matmul_rate(device, getattr(torch, config.precision)) / 2 / flops_per_token(config.model)
        trainer = LMTrainer(config, place.corpus, Options(device=place.device), Ranks(), run.branch)
        trainer.train_step()  # allocates
        began = time.perf_counter()
        trainer.train_step()
        return config.step_tokens / (time.perf_counter() - began)


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
