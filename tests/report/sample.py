"""A made-up comparison with a bit of everything: gates, mixed words, a limit, alarms, a sweep, attention maps."""

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from ordinate.results.comparison import ComparedRun, Comparison, Curve, Profile, RatePoint, Sweep
from ordinate.results.run_result import Machine
from ordinate.statistics.analyze import analyze
from ordinate.statistics.improvement import Improvement
from ordinate.statistics.interval import Interval
from ordinate.statistics.learning import Steps, TrainingEnd
from ordinate.statistics.observations import Observation, Split
from ordinate.statistics.ranks import AverageRanks
from ordinate.statistics.reach import Reach
from ordinate.statistics.tests import Difference
from ordinate.statistics.types import (
    Analysis,
    ArmFacts,
    Basis,
    Cell,
    Contrast,
    Finding,
    Outcome,
    Range,
    StudyFacts,
    TaskAnalysis,
    Verdict,
)  # fmt: skip
from ordinate.statistics.words import Word

SIX = ("none", "sinusoidal", "learned", "rope", "alibi", "t5")
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
STEPS = tuple(range(60, 601, 60))

# encoding: in distribution, at 64, at 96, at 128; None: out of range
K_BACK: dict[str, tuple[float | None, ...]] = {
    "none": (0.31, 0.25, 0.22, 0.2), "sinusoidal": (1.0, 0.51, 0.37, 0.29), "learned": (1.0, 0.52, None, None),
    "rope": (1.0, 0.985, 0.94, 0.83), "alibi": (0.951, 0.93, 0.9, 0.86), "t5": (0.999, 0.97, 0.93, 0.9),
}  # fmt: skip
MARKERS: dict[str, tuple[float | None, ...]] = {
    "none": (1.21, 1.63), "sinusoidal": (0.84, 2.9), "learned": (0.81, 3.4), "rope": (0.83, 1.2),
    "alibi": (0.86, 0.97), "t5": (0.85, 1.01),
}  # fmt: skip


def trained(learned_at: tuple[int | None, ...], budget: int) -> Steps:
    """Seeds that learned a task at these steps; none: it ended below the bar."""
    ends = (
        TrainingEnd(seed, Word.DID_NOT_FIT if at is None else Word.SOLVES, None, budget, at)
        for seed, at in enumerate(learned_at, 1)
    )
    return Steps(tuple(ends), budget)


def sample(
    names: tuple[str, ...] = SIX, *, seeds: int = 5, maps: Path | None = None, tasks: tuple[str, ...] = ("k_back(k=3)",)
) -> Comparison:
    """`names` stand for the six encodings above, in their order. `maps`: a folder for attention maps."""
    source = np.random.default_rng(7)
    every = range(1, seeds + 1)
    called = dict(zip(SIX, names, strict=False))
    observed: list[Observation] = []
    for task in tasks:
        loss = task.startswith("markers")
        for own, means in (MARKERS if loss else K_BACK).items():
            if own in called:
                observed += _observed(task, called[own], means, seeds, source, loss=loss)
    study = {tasks[0]: StudyFacts(arms=(ArmFacts(names[0], rate=0.01, edge="largest"),))}
    steps = {
        task: {name: trained(tuple(60 * (1 + index + seed % 3) for seed in every), 600)
               for index, name in enumerate(names)}
        for task in tasks if not task.startswith("markers")
    }  # fmt: skip
    limits = ("Encodings are compared at one size (2 layers, width 128).",)
    relaxed = () if seeds >= 5 else (f"{seeds} seeds instead of 5",)
    analysis = analyze(observed, study=study, steps=steps, limits=limits, preliminary=relaxed)
    return Comparison(
        id="8f2c11d09a4e",
        command=f"ordinate compare '{','.join(tasks)}' --encodings '{','.join(names)}' --seeds {seeds} steps=600",
        metrics={task: "loss" if task.startswith("markers") else "accuracy" for task in tasks},
        trained=dict.fromkeys(tasks, (8, 32)),
        analysis=analysis,
        sweeps=tuple(_sweep(task, name, source) for task in tasks for name in names),
        curves=tuple(_curve(task, name, seed, source) for task in tasks for name in names for seed in every),
        profiles=tuple(_profile(task, name, index, maps, source) for task in tasks for index, name in enumerate(names)),
        settings={task: {"steps": 600, "batch": 64, "betas": (0.9, 0.95), "dataset": None,
                         "model": {"dim": 128, "heads": 4, "layers": 2}} for task in tasks},
        runs=tuple(
            ComparedRun(f"{abs(hash((task, name, seed))) % 16**12:012x}", task, name, seed, 1e-3, not seed, "done", 1.5)
            for task in tasks for name in names for seed in range(seeds + 1)
        ),
        machine=Machine("0.1", "3.11.2", "2.13.0", "2.0", "Linux", "a processor", 2, 1, None),
        failures={"0123456789ab": "RuntimeError: the machine ran out of memory"},
    )  # fmt: skip


def _observed(
    task: str, name: str, means: tuple[float | None, ...], seeds: int, source: np.random.Generator, *, loss: bool
) -> list[Observation]:
    found = []
    for seed in range(1, seeds + 1):
        shift = source.normal(0, 0.02)
        for length, mean in zip((32, 64, 96, 128), means, strict=False):
            split: Split = "id" if length == 32 else "ood"
            score = mean
            if mean is not None and loss:
                score = mean + 3 * shift
            elif mean is not None and mean < 0.999:
                score = float(np.clip(mean + shift * (1 if length == 32 else 2), 0, 1))
            chance, floor, bar = (2.77, 2.1, None) if loss else (1 / 16, 1 / 16 + 0.001 * length, 0.95)
            observation = Observation(
                task, name, seed, split, length, score, chance, floor, 1000, bar, family="distance"
            )
            found.append(replace(observation, direction="lower" if loss else "higher"))
    return found


def _sweep(task: str, name: str, source: np.random.Generator) -> Sweep:
    best = int(source.integers(1, 3))
    scores = [float(np.clip(0.97 - 0.2 * abs(i - best) + source.normal(0, 0.02), 0, 1)) for i in range(len(RATES))]
    points = [
        RatePoint(rate, score, 1.1 - score, {("ood", 64): score * 0.8})
        for rate, score in zip(RATES, scores, strict=True)
    ]
    if best == 1:
        points[-1] = RatePoint(RATES[-1], None, None, {("ood", 64): None})
    return Sweep(task, name, tuple(points), (RATES[best], RATES[best - 1]), RATES[best], best == 2)


def _curve(task: str, name: str, seed: int, source: np.random.Generator) -> Curve:
    speed = 60 + 300 * source.random()
    values = [float(1 - 0.93 * np.exp(-step / speed) - 0.01 * source.random()) for step in STEPS]
    if task.startswith("markers"):
        values = [2.8 - 2 * value for value in values]
    return Curve(task, name, seed, STEPS, tuple(values))


def _profile(task: str, name: str, index: int, maps: Path | None, source: np.random.Generator) -> Profile:
    attention = None
    if maps is not None:
        attention = maps / f"{task}-{index}.safetensors"
        save_file({f"layer_{layer}": _maps(source) for layer in range(2)}, attention)
    return Profile(
        task=task, encoding=name, extrapolation="untrained" if index == 2 else "computes",
        max_positions=96 if index == 2 else None,
        parameters=401_424 + 8192 * index, own_parameters=8192 * index, step_ms=18.3 + index, memory=48_000_000,
        rates=(1e-3,), embedding_norm=0.23, encoding_norm=0.05 * index, attention=attention,
    )  # fmt: skip


def _maps(source: np.random.Generator, heads: int = 4, length: int = 32) -> np.ndarray:
    """Causal softmax of noise that favors some distance."""
    gaps = np.arange(length)[:, None] - np.arange(length)[None]
    scores = source.normal(0, 1, (2, heads, length, length))
    scores -= 0.8 * np.abs(gaps - np.arange(heads)[None, :, None, None])
    scores = np.where(gaps >= 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def large(encodings: int = 10, seeds: int = 200, tasks: int = 5) -> Comparison:
    """Ten thousand runs, put together without the statistics, which are not what is timed."""
    source = np.random.default_rng(3)
    names = tuple(f"encoding {index}" for index in range(encodings))
    every = tuple(range(1, seeds + 1))
    found = []
    for task in (f"task_{index}" for index in range(tasks)):
        ranges = []
        for length in (32, 64, 96, 128):
            cells = []
            for name in names:
                scores = tuple(source.random(seeds).tolist())
                mean = sum(scores) / seeds
                around = Interval(mean, mean - 0.02, mean + 0.02, min(scores), max(scores), seeds)
                cells.append(Cell(name, {Word.SOLVES: seeds}, every, scores, (True,) * seeds, around, mean, mean))
            order = {name: float(rank) for rank, name in enumerate(names, start=1)}
            split: Split = "id" if length == 32 else "ood"
            ranks = AverageRanks(order, {name: 1 / order[name] for name in names}, seeds, 0.96, 0.01)
            ranges.append(Range(split, length, 0.06, 0.1, 1000, tuple(cells), ranks))
        pairs = tuple(
            Contrast(a, b, Basis.SCORES, (seeds, seeds), (0.5, 0.4), Difference(0.1, -0.1, 0.3), 0.04, 0.4,
                 Improvement(0.6, 0.4, 0.8), Outcome.OPEN)
            for a, b in combinations(names, 2)
        )  # fmt: skip
        found.append(
            TaskAnalysis(
                task, "distance", "higher", 0.95, 32, names, every, tuple(ranges), 1,
                dict.fromkeys(names, (seeds, seeds)), dict.fromkeys(names, Reach((4.0,) * seeds, 4.0)), {}, pairs,
                dict.fromkeys(names, 0.5), {}, Verdict(Finding.OPEN, (), seeds, 0.01), (),
            )
        )  # fmt: skip
    called = tuple(task.task for task in found)
    return replace(
        sample(names[:2]),
        analysis=Analysis(tuple(found), names, 0.05),
        curves=tuple(_curve(task, name, seed, source) for task in called for name in names for seed in every),
        runs=tuple(
            ComparedRun(f"{index:012x}", task, name, seed, 1e-3, False, "done", 1.5)
            for index, (task, name, seed) in enumerate(product(called, names, every))
        ),
    )
