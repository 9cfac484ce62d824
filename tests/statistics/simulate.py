"""How often equal encodings are told apart, and different ones are: `python tests/statistics/simulate.py 2000`.

Every study has six encodings and six seeds that all learned the task, and is judged as a comparison is.
"""

import json
import sys
from collections.abc import Callable
from itertools import combinations

import numpy as np

from ordinate.statistics.holm import holm
from ordinate.statistics.pairs import Sample
from ordinate.statistics.pairs import least as smallest
from ordinate.statistics.permutation import least_p as least_of_scores
from ordinate.statistics.permutation import permutations
from ordinate.statistics.tests import fisher, least_fisher_p, welches
from ordinate.statistics.types import Basis

ENCODINGS, SEEDS, ALPHA = 6, 6, 0.05
PAIRS = list(combinations(range(ENCODINGS), 2))
EVEN, UNEVEN = np.ones(ENCODINGS), np.array([1.0, 1.0, 1.0, 10.0, 10.0, 10.0])
SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of a standard normal value: mean 0, spread 1
    "normal": lambda z: z,
    "skewed": lambda z: (np.exp(z) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e),
    # one value in five lies far above the others; 0.5 * 0.28: what both parts of the sum share
    "rare mode": lambda z: (np.where(z > 0.8416, 2.0, -0.5) + 0.1 * z) / np.sqrt(1.01 + 0.5 * 0.28),
    "bimodal": lambda z: (np.sign(z) + 0.3 * z) / np.sqrt(1 + 0.09 + 0.6 * np.sqrt(2 / np.pi)),
}


def draws(source: np.random.Generator, studies: int, shape: str, correlation: float, spreads: np.ndarray) -> np.ndarray:
    """Scores by study, encoding and seed, all with mean 0; seeds go together as much as the correlation says."""
    shared = source.normal(size=(studies, 1, SEEDS))
    own = source.normal(size=(studies, ENCODINGS, SEEDS))
    z = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    return SHAPES[shape](z) * spreads[None, :, None]


def claims(scores: np.ndarray, *, welch: bool = True) -> np.ndarray:
    """Which pairs each study claims, from scores by study, encoding and seed."""
    least = [least_of_scores(SEEDS, SEEDS)] * len(PAIRS)
    sure = _corrected(permutations(_samples(scores)), least) < ALPHA
    if welch:  # only where there is something to agree with
        some = sure.any(axis=1)
        p = [max(value, least[0]) for value in welches(_samples(scores[some]))]
        sure[some] &= _corrected(p, least) < ALPHA
    return sure


def _samples(scores: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(study[a], study[b]) for study in scores for a, b in PAIRS]


def learning_claims(learned: np.ndarray, of: int) -> np.ndarray:
    """Which pairs are claimed by how many seeds learned the task, from numbers by study and encoding."""
    p = [fisher(int(study[a]), of, int(study[b]), of) for study in learned for a, b in PAIRS]
    least = [least_fisher_p(int(study[a] + study[b]), of, of) for study in learned for a, b in PAIRS]
    rows = zip(np.reshape(p, (-1, len(PAIRS))), np.reshape(least, (-1, len(PAIRS))), strict=True)
    return np.array([holm(list(row), list(smallest), ALPHA) for row, smallest in rows]) < ALPHA


def _corrected(p: list[float], least: list[float]) -> np.ndarray:
    return np.array([holm(list(row), least, ALPHA) for row in np.reshape(p, (-1, len(PAIRS)))]).reshape(-1, len(PAIRS))


def false_claims(studies: int, shape: str, correlation: float, spreads: np.ndarray, **options: bool) -> float:
    """The share of studies of equal means that claim anything."""
    source = np.random.default_rng([studies, *shape.encode(), round(10 * correlation), int(spreads.max())])
    return float(claims(draws(source, studies, shape, correlation, spreads), **options).any(axis=1).mean())


def power(studies: int, **options: bool) -> tuple[float, float]:
    """One of six is better by 0.2 at a spread of 0.05: the share of its pairs that are claimed, and of studies where
    all five are."""
    scores = 0.05 * np.random.default_rng(studies).normal(size=(studies, ENCODINGS, SEEDS))
    scores[:, 0] += 0.2
    true = claims(scores, **options)[:, [0 in pair for pair in PAIRS]]
    return float(true.mean()), float(true.all(axis=1).mean())


def false_learning_claims(studies: int, rate: float, of: int = SEEDS) -> float:
    """The share of studies that claim anything where all encodings learn the task with the same probability."""
    learned = np.random.default_rng([studies, round(100 * rate), of]).binomial(of, rate, size=(studies, ENCODINGS))
    return float(learning_claims(learned, of).any(axis=1).mean())


def false_claims_of_both(studies: int, rate: float, seeds: int) -> float:
    """The same where learning and the scores of those that learned are tested in one family, as a comparison does."""
    source = np.random.default_rng([studies, round(100 * rate), seeds, 2])
    learned = source.random((studies, ENCODINGS, seeds)) < rate
    scores = source.normal(size=learned.shape)
    families: list[list[Sample]] = []
    for own, values in zip(learned, scores, strict=True):
        family = []
        for a, b in PAIRS:
            flags = tuple(tuple(map(float, own[e])) for e in (a, b))
            means = tuple(tuple(values[e][own[e]].tolist()) for e in (a, b))
            family.append(Sample("", "", "", Basis.LEARNING, flags))
            family += [Sample("", "", "", Basis.SCORES, means)] if all(means) else []
        families.append(family)
    everything = [sample.values for family in families for sample in family if sample.basis is Basis.SCORES]
    by_permutation, by_welch = iter(permutations(everything)), iter(welches(everything))
    wrong = 0
    for family in families:
        least = smallest(family)
        first, second = [], []
        for sample, floor in zip(family, least, strict=True):
            if sample.basis is Basis.LEARNING:
                counts = [(round(sum(values)), len(values)) for values in sample.values]
                first.append(fisher(*counts[0], *counts[1]))
                second.append(first[-1])
            else:
                first.append(next(by_permutation))
                second.append(max(next(by_welch), floor))
        both = zip(holm(first, least, ALPHA), holm(second, least, ALPHA), strict=True)
        wrong += any(max(pair) < ALPHA for pair in both)
    return wrong / studies


def rates(studies: int) -> dict[str, float]:
    """All of them, by name."""
    found = {}
    for spread, spreads in (("equal", EVEN), ("ten times", UNEVEN)):
        for shape in SHAPES:
            for correlation in (0.0, 0.5, 0.9):
                found[f"{shape}, {spread}, {correlation}"] = false_claims(studies, shape, correlation, spreads)
    found["permutation test alone"] = false_claims(studies, "normal", 0.0, UNEVEN, welch=False)
    for seeds in (6, 20):
        for rate in (0.1, 0.3, 0.5, 0.8):
            found[f"learned by {rate}, {seeds} seeds"] = false_learning_claims(studies, rate, seeds)
    for seeds in (6, 8):
        for rate in (0.3, 0.6, 0.9):
            found[f"both at {rate}, {seeds} seeds"] = false_claims_of_both(studies // 2, rate, seeds)
    found["power, of pairs"], found["power, of studies"] = power(studies)
    found["power of permutations alone, of pairs"], _ = power(studies, welch=False)
    return found


if __name__ == "__main__":
    print(json.dumps(rates(int(sys.argv[1]) if len(sys.argv) > 1 else 2000), indent=1))
