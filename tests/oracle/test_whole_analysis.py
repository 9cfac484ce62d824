"""A whole file of results, recomputed from its text with scipy: every p, corrected p, probability, area, interval."""

import csv
import io
import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize, stats

from ordinate.statistics.analyze import analyze
from ordinate.statistics.results_file import parse_results
from ordinate.statistics.types import Basis, Contrast, TaskAnalysis

ENCODINGS, SEEDS, LENGTHS, SEQUENCES, CHANCE, BAR, ALPHA = ("x", "y", "z"), 6, (32, 64, 96, 128), 500, 0.1, 0.95, 0.05
EXACT = 1e-9
Curves = dict[str, list[dict[int, float]]]  # encoding: of each seed, the score by length


def results(salt: int) -> str:
    """Scores that fall with the length, by another amount for each encoding and seed; some seeds fail."""
    source = np.random.default_rng(salt)
    lines = ["encoding,task,seed,length,split,score,chance,n,bar"]
    for encoding in ENCODINGS:
        fall, spread = source.choice([0.02, 0.2, 0.5]), source.choice([0.002, 0.02, 0.2])
        for seed in range(SEEDS):
            score = source.choice([1.0, 1.0, 0.99, 0.97, 0.6])
            for place, length in enumerate(LENGTHS):
                score -= abs(fall + spread * source.normal()) / place if place else 0.0
                split = "ood" if place else "id"
                lines.append(f"{encoding},t,{seed},{length},{split},{max(score, 0):.3f},{CHANCE},{SEQUENCES},{BAR}")
    return "\n".join(lines) + "\n"


def curves(text: str) -> Curves:
    found: Curves = {encoding: [{} for _ in range(SEEDS)] for encoding in ENCODINGS}
    for row in csv.DictReader(io.StringIO(text)):
        found[row["encoding"]][int(row["seed"])][int(row["length"])] = float(row["score"])
    return found


def learned(curve: dict[int, float]) -> bool:
    return curve[LENGTHS[0]] >= BAR


def area(curve: dict[int, float]) -> float:
    """Beyond the trained length the floor, if the task was not learned."""
    scores = [curve[length] if learned(curve) or length == LENGTHS[0] else CHANCE for length in LENGTHS]
    return float(np.trapezoid(scores, np.log(LENGTHS)) / math.log(LENGTHS[-1] / LENGTHS[0]))


def values(known: Curves, basis: Basis) -> dict[str, list[float]]:
    """An encoding that no seed learned the task with is not compared beyond it."""
    if basis is Basis.LEARNING:
        return {name: [float(learned(curve)) for curve in own] for name, own in known.items()}
    some = {name: own for name, own in known.items() if any(map(learned, own))}
    if basis is Basis.AREA:
        return {name: [area(curve) for curve in own] for name, own in some.items()}
    return {name: [curve[64] if learned(curve) else CHANCE for curve in own] for name, own in some.items()}


def welch(x: np.ndarray, y: np.ndarray, least: tuple[float, float]) -> float:
    """With squared standard errors of at least so much."""
    one, two = (max(v.var(ddof=1) / len(v), floor) for v, floor in zip((x, y), least, strict=True))
    freedom = (one + two) ** 2 / (one**2 / (len(x) - 1) + two**2 / (len(y) - 1))
    return float(2 * stats.t.sf(abs(x.mean() - y.mean()) / math.sqrt(one + two), freedom))


def p_of_scores(x: np.ndarray, y: np.ndarray) -> float:
    """`x` has the higher mean."""
    logs = [-np.log((SEQUENCES * (1 - v) + 0.5) / (SEQUENCES + 0.5)) for v in (x, y)]
    if logs[0].mean() < logs[1].mean():
        return 1.0
    of_logs = welch(*logs, tuple(v.mean() / (SEQUENCES * (1 - v.mean()) + 0.5) / len(v) for v in (x, y)))
    if x.min() - y.max() < 0.15:
        return of_logs
    errors = [(SEQUENCES * (1 - v.mean()) + 0.5) / (SEQUENCES + 1) for v in (x, y)]
    return min(of_logs, welch(x, y, tuple(e * (1 - e) / SEQUENCES / SEEDS for e in errors)))


class Recomputed(NamedTuple):
    basis: Basis
    names: frozenset[str]
    p: float
    least: float


def family_of(known: Curves) -> list[Recomputed]:
    found = []
    for basis in Basis:
        for (one, x), (two, y) in combinations(values(known, basis).items(), 2):
            if basis is Basis.LEARNING:
                total = round(sum(x) + sum(y))
                tables = {
                    k: stats.fisher_exact([[k, SEEDS - k], [total - k, SEEDS - total + k]]).pvalue
                    for k in range(max(0, total - SEEDS), min(total, SEEDS) + 1)
                }
                found.append(Recomputed(basis, frozenset((one, two)), tables[round(sum(x))], min(tables.values())))
            else:
                better, worse = sorted((np.array(x), np.array(y)), key=lambda v: -v.mean())
                found.append(Recomputed(basis, frozenset((one, two)), p_of_scores(better, worse), 0.0))
    return found


def corrected(family: list[Recomputed]) -> dict[tuple[Basis, frozenset[str]], float]:
    """Holm's steps; each counts the tests that are left and can still reach their threshold (Tarone)."""
    left, largest, found = sorted(family, key=lambda test: test.p), 0.0, {}
    while left:
        count = next(k for k in range(1, len(left) + 1) if sum(test.least * k < ALPHA for test in left) <= k)
        largest = max(largest, min(1.0, count * left[0].p))
        found[left[0].basis, left[0].names] = largest
        left = left[1:]
    return found


def improvement(x: list[float], y: list[float]) -> tuple[float, float, float]:
    """Newcombe (2006), method 5."""
    n, m = len(x), len(y)
    seen = float(stats.mannwhitneyu(x, y).statistic) / (n * m)

    def distance(truth: float) -> float:
        spread = 1 + ((n + m) / 2 - 1) * ((1 - truth) / (2 - truth) + truth / (1 + truth))
        return (seen - truth) ** 2 - stats.norm.ppf(0.975) ** 2 * truth * (1 - truth) * spread / (n * m)

    tiny = 1e-12
    low = 0.0 if seen == 0 else optimize.brentq(distance, tiny, seen - tiny, xtol=1e-14)
    high = 1.0 if seen == 1 else optimize.brentq(distance, seen + tiny, 1 - tiny, xtol=1e-14)
    return seen, low, high


def interval(scores: list[float]) -> tuple[float, float]:
    """Student's of the scores and of their logits together."""
    if len(scores) == 1 or min(scores) == max(scores):
        return scores[0], scores[0]
    v = np.array(scores)
    logits = np.log((1000 * v + 0.5) / (1000 * (1 - v) + 0.5))
    ends = [stats.t.interval(0.95, len(v) - 1, w.mean(), stats.sem(w)) for w in (v, logits)]
    low, high = (1 / (1 + math.exp(-end)) for end in ends[1])
    return max(0.0, min(ends[0][0], low)), min(1.0, max(ends[0][1], high))


def analyzed(text: str) -> TaskAnalysis:
    (task,) = analyze(parse_results(io.BytesIO(text.encode()), "text").observations).tasks
    return task


@pytest.mark.parametrize("salt", range(12))
def test_every_number_of_a_file_is_that_of_scipy(salt: int) -> None:
    text = results(salt)
    task, known = analyzed(text), curves(text)
    family = family_of(known)
    expected = {(test.basis, test.names): test.p for test in family}
    after = corrected(family)
    pairs: dict[tuple[Basis, frozenset[str]], Contrast] = {
        (pair.basis, frozenset((pair.better, pair.worse))): pair for pair in task.pairs
    }
    assert pairs.keys() == expected.keys()
    for key, pair in pairs.items():
        assert pair.p == pytest.approx(expected[key], rel=EXACT, abs=1e-15)
        assert pair.corrected == pytest.approx(after[key], rel=EXACT, abs=1e-15)
        own = values(known, pair.basis)
        assert pair.means == pytest.approx([np.mean(own[name]) for name in (pair.better, pair.worse)], rel=EXACT)
        if pair.improvement is not None:
            assert tuple(pair.improvement) == pytest.approx(
                improvement(own[pair.better], own[pair.worse]), rel=EXACT, abs=EXACT
            )
        claim = after[key] < ALPHA and (pair.improvement is None or pair.improvement.low > 0.5)
        assert pair.claim == (claim and pair.means[0] > (0 if pair.basis is Basis.LEARNING else pair_floor()))
    assert task.areas == pytest.approx({e: np.mean(v) for e, v in values(known, Basis.AREA).items()}, rel=EXACT)
    assert task.means == pytest.approx({e: np.mean(v) for e, v in values(known, Basis.SCORES).items()}, rel=EXACT)
    for r in task.ranges:
        for cell in r.cells:
            scores = [c[r.length] for c in known[cell.encoding] if learned(c) or r.split == "id"]
            assert (cell.interval is None) is (not scores)
            if cell.interval is not None and len(scores) > 1:
                assert (cell.interval.low, cell.interval.high) == pytest.approx(interval(scores), rel=EXACT, abs=EXACT)


def pair_floor() -> float:
    """Means up to the end of the floor's band are no claim."""
    return float(stats.binom.ppf(0.975, SEQUENCES, CHANCE)) / SEQUENCES


def test_the_files_have_what_can_go_wrong() -> None:
    """Seeds that fail, encodings that none learns, pairs far apart, claims of every kind, and pairs left open."""
    known = [curves(results(salt)) for salt in range(12)]
    shares = [sum(map(learned, own)) for each in known for own in each.values()]
    assert {0 < share < SEEDS for share in shares} == {True, False}
    pairs = [pair for salt in range(12) for pair in analyzed(results(salt)).pairs]
    assert {pair.claim for pair in pairs if pair.basis is Basis.SCORES} == {True, False}
    apart = [
        min(values(each, Basis.AREA)[a]) - max(values(each, Basis.AREA)[b])
        for each in known
        for a in values(each, Basis.AREA)
        for b in values(each, Basis.AREA)
        if a != b
    ]
    assert max(apart) > 0.15
