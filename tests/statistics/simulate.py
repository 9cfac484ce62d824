"""How often equal encodings are told apart, and different ones are: `python tests/statistics/simulate.py 2000`.

Every study has six encodings and six seeds unless its name says otherwise, and is judged as a comparison is, on two
endpoints: the score at twice the trained length, and the area, which is the mean of that score and of one more length.
`claims` is `pairs.judge` for many studies at once; `judged` calls it for one, and a test compares the two.
"""

import json
import sys
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from ordinate.statistics.holm import holm
from ordinate.statistics.improvement import improvement
from ordinate.statistics.looks import MARGIN
from ordinate.statistics.pairs import EVEN, Endpoint, judge
from ordinate.statistics.tests import SEQUENCES, Moments, Welch, fisher, least_fisher_p, p_of_scores
from ordinate.statistics.types import Basis

ENCODINGS, SEEDS, ALPHA, FLOOR = 6, 6, 0.05, 0.06
CORRELATION = 0.5  # between the normal variables of a seed at two lengths
Values = list[np.ndarray]  # of each encoding: by study and seed
Shape = Callable[[np.ndarray, int, int], np.ndarray]  # of standard normal values, the encoding, and their number


def _exponential(z: np.ndarray, mean: float) -> np.ndarray:
    return -mean * np.log1p(-np.minimum(ndtr(z), 1 - 1e-12))


def _standard_skewed(z: np.ndarray) -> np.ndarray:
    return (np.exp(z) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


def _failing(z: np.ndarray, rate: float = 0.2) -> np.ndarray:
    """0.95, and the floor in some seeds."""
    return np.where(ndtr(z) < rate, FLOOR, 0.95 + 0.02 * np.sin(17 * z))


def _half(one: Callable[[np.ndarray], np.ndarray], two: Callable[[np.ndarray], np.ndarray]) -> Shape:
    """The first half of the encodings have one distribution, the others another."""
    return lambda z, encoding, of: one(z) if encoding < of // 2 else two(z)


def _all(own: Callable[[np.ndarray], np.ndarray]) -> Shape:
    return lambda z, encoding, of: own(z)


ALIKE: dict[str, Shape] = {
    "normal": _all(lambda z: 0.7 + 0.05 * z),
    "skewed": _all(lambda z: 0.8 - 0.05 * _standard_skewed(z)),
    "bimodal": _all(lambda z: 0.65 + 0.25 * np.sign(z) + 0.02 * z),
    "rare mode": _all(lambda z: np.where(z < -0.8416, 0.5, 0.9) + 0.02 * z),
}


def _half_skewed(error: float) -> Shape:
    """Exponential errors, cut at 1, and steady ones of the same mean."""
    mean = 1 - error * (1 - np.exp(-1 / error))
    return _half(lambda z: mean + min(0.02, 0.2 * error) * z, lambda z: 1 - _exponential(z, error))


def _half_lognormal(error: float) -> Shape:
    """Stronger skew: lognormal errors, cut at 1, and steady ones of the same mean."""
    cut = 0.5 - np.log(error)
    mean = 1 - error * ndtr(cut - 1) - ndtr(-cut)
    return _half(lambda z: mean + min(0.02, 0.2 * error) * z, lambda z: 1 - error * np.exp(z - 0.5))


SKEWED = "near 1, half skewed"
# Encodings and seeds with which skew is not controlled: fewer tests to correct for, or seeds enough to see that log
# error rates differ although means do not.
NOT_CONTROLLED = ((2, 6), (3, 6), (3, 10), (6, 10), (6, 15))
CONTROLLED: dict[str, Shape] = {
    "ties at 1": _all(lambda z: 0.999 + 0.002 * z),
    "spread 10 to 1": _half(lambda z: 0.6 + 0.01 * z, lambda z: 0.6 + 0.1 * z),
    SKEWED: _half_skewed(0.01),
    "near 0.9, half skewed": _half_skewed(0.1),
    "near 0.7, half skewed": _half_skewed(0.3),
    "near 0.6, half skewed": _half_skewed(0.5),
    "near 0.5, half skewed": _half_skewed(0.7),
    "bimodal, 1 or 0.5": _all(lambda z: np.where(z < 0, 0.5, 1.0)),
}
LOSSES: dict[str, Shape] = {
    "loss, normal": _all(lambda z: 2 + 0.05 * z),
    "loss, lognormal": _all(lambda z: np.exp(0.3 * z)),
    "loss, spread 10 to 1": _half(lambda z: 2 + 0.01 * z, lambda z: 2 + 0.1 * z),
}
REPORTED: dict[str, Shape] = {  # equal means, and no test of few seeds can know
    "half steady, half bimodal": _half(
        lambda z: 0.65 + 0.02 * z, lambda z: 0.65 + 0.25 * np.sign(z) + 0.02 * np.sin(17 * z)
    ),
    "rare failure in half": _half(lambda z: 0.8 * 0.95 + 0.2 * FLOOR + 0.02 * z, _failing),
    "near 0.97, half lognormal": _half_lognormal(0.03),
    "near 0.9, half lognormal": _half_lognormal(0.1),
    "near 0.7, half lognormal": _half_lognormal(0.3),
}


def draws(
    source: np.random.Generator, studies: int, shape: Shape, seeds: Sequence[int], *, loss: bool = False,
    across: float = 0.0,
) -> list[Values]:  # fmt: skip
    """The values of both endpoints. `across`: how much the encodings of one seed go together."""
    shared = source.normal(size=(2, studies, max(seeds)))
    endpoints: list[Values] = [[], []]
    for encoding, n in enumerate(seeds):
        fresh = source.normal(size=(2, studies, n))
        own = np.sqrt(across) * shared[:, :, :n] + np.sqrt(1 - across) * fresh
        longer = np.sqrt(CORRELATION) * own[0] + np.sqrt(1 - CORRELATION) * own[1]
        score, other = (_counted(shape(z, encoding, len(seeds)), loss) for z in (own[0], longer))
        endpoints[0].append(score)
        endpoints[1].append((score + other) / 2)
    return endpoints


def _counted(values: np.ndarray, loss: bool) -> np.ndarray:
    """Accuracies are counted on so many sequences."""
    return values if loss else np.round(np.clip(values, 0, 1) * SEQUENCES) / SEQUENCES


def claims(endpoints: Sequence[Values], *, loss: bool = False) -> np.ndarray:
    """Which pairs each study claims, by study, endpoint and pair: 1 for its first encoding, -1 for its second."""
    tests = [_tested(values, loss) for values in endpoints]
    p = np.stack([own for own, _ in tests], axis=1)
    sure = _holm(p.reshape(len(p), -1)).reshape(p.shape) < ALPHA
    better = np.sign(np.stack([gap for _, gap in tests], axis=1)) * (-1 if loss else 1)
    for study, endpoint, pair in np.argwhere(sure):
        sure[study, endpoint, pair] = _improves(endpoints, study, endpoint * p.shape[2] + pair)
    return np.where(sure, better, 0).astype(int)


def _tested(values: Values, loss: bool) -> tuple[np.ndarray, np.ndarray]:
    """p and the difference of means, by study and pair."""
    studies, (one, two) = len(values[0]), np.triu_indices(len(values), 1)
    at = np.arange(studies)[:, None] * len(values)
    a, b = (at + one).ravel(), (at + two).ravel()
    raw = _moments(values)
    plain = Welch.of(raw, a, b)
    p = plain.p()
    if not loss:
        logs = _moments([-np.log((SEQUENCES * (1 - own) + 0.5) / (SEQUENCES + 0.5)) for own in values])
        least = raw.mean / (SEQUENCES * (1 - raw.mean) + 0.5) / raw.n
        log_errors = Moments(logs.n, logs.mean, np.maximum(logs.error, least))
        lowest, highest = (np.stack([ends(own, axis=1) for own in values], axis=1).ravel() for ends in (np.min, np.max))
        better, worse = np.where(plain.gap < 0, b, a), np.where(plain.gap < 0, a, b)
        p = p_of_scores(raw, log_errors, (lowest, highest), SEQUENCES, better, worse)
    return p.reshape(studies, -1), plain.gap.reshape(studies, -1)


def _moments(values: Values) -> Moments:
    """By study, then encoding."""
    n = np.array([float(own.shape[1]) for own in values])
    mean, variance = (np.stack(own, 1) for own in ([v.mean(1) for v in values], [v.var(1, ddof=1) for v in values]))
    return Moments(np.tile(n, len(mean)), mean.ravel(), (variance / n).ravel())


def _holm(p: np.ndarray) -> np.ndarray:
    order = np.argsort(p, axis=1)
    left = p.shape[1] - np.arange(p.shape[1])
    corrected = np.maximum.accumulate(np.take_along_axis(p, order, axis=1) * left, axis=1)
    found = np.empty_like(p)
    np.put_along_axis(found, order, corrected, axis=1)
    return found


def judged(endpoints: Sequence[Values], study: int, *, loss: bool = False) -> np.ndarray:
    """The same of one study, by the package: by endpoint and pair."""
    family = [
        Endpoint("task", basis, {str(e): tuple(own[study].tolist()) for e, own in enumerate(values)}, loss, not loss)
        for basis, values in zip((Basis.SCORES, Basis.AREA), endpoints, strict=True)
    ]
    pairs = {pair: at for at, pair in enumerate(combinations(range(len(endpoints[0])), 2))}
    found = np.zeros((len(endpoints), len(pairs)), dtype=int)
    for _, pair in judge(family, ALPHA):
        one, two = int(pair.better), int(pair.worse)
        if pair.claim:
            found[int(pair.basis is Basis.AREA), pairs[min(one, two), max(one, two)]] = 1 if one < two else -1
    return found


def false_claims(
    studies: int, name: str, shape: Shape, seeds: Sequence[int] = (SEEDS,) * ENCODINGS, *, loss: bool = False,
    across: float = 0.0,
) -> float:  # fmt: skip
    """The share of studies of equal means that claim anything."""
    source = np.random.default_rng([studies, *name.encode(), round(10 * across), *seeds])
    return float(claims(draws(source, studies, shape, seeds, loss=loss, across=across), loss=loss).any((1, 2)).mean())


def power(studies: int, shape: Shape, seeds: int = SEEDS) -> float:
    """The share of studies that name the first encoding: above each other by some endpoint, by 0.02 or more."""
    source = np.random.default_rng([studies, seeds])
    endpoints = draws(source, studies, shape, (seeds,) * ENCODINGS)
    first = claims(endpoints)[:, :, : ENCODINGS - 1]  # pairs of the first encoding come first
    gaps = np.stack(
        [np.stack([own[0].mean(1) - other.mean(1) for other in own[1:]], axis=1) for own in endpoints], axis=1
    )
    above = ((first > 0) & (gaps >= MARGIN)).any(axis=1) & ~(first < 0).any(axis=1)
    return float(above.all(axis=1).mean())


def _best(others: Callable[[np.ndarray], np.ndarray]) -> Shape:
    """The first near 1.000."""
    return lambda z, encoding, of: others(z) if encoding else 1 - np.abs(0.001 * z)


def _wide(spread: float) -> Shape:
    """The first has 1.00 in two seeds of three and 0.56 in the others."""
    return lambda z, encoding, of: (
        0.28 + spread * z if encoding else np.where(ndtr(z) < 1 / 3, 0.56 + 0.05 * np.sin(17 * z), 1.0)
    )


POWER: dict[str, Shape] = {
    **{
        # a gamma variable of shape 1/2 is half the square of a normal one: mean 1/2, variance 1/2
        f"{gap} lower, skewed": _best(lambda z, gap=gap: 1 - gap - 0.5 * gap * (z**2 / 2 - 0.5) / np.sqrt(0.5))
        for gap in (0.05, 0.1, 0.3)
    },
    **{f"{gap} lower, exponential": _best(lambda z, gap=gap: 1 - _exponential(z, gap)) for gap in (0.05, 0.1, 0.3)},
    "0.2 lower, normal": lambda z, encoding, of: (0.6 if encoding else 0.8) + 0.05 * z,
    **{f"best 1.00 or 0.56, others 0.28 with spread {spread}": _wide(spread) for spread in (0.05, 0.1)},
}


def false_claims_of_learning(studies: int, rate: float, seeds: int) -> float:
    """All learn the task with the same probability, which is tested in the same family.

    A seed that does not learn it counts as the floor on the other endpoints; an encoding none of whose seeds does is
    not compared there.
    """
    source = np.random.default_rng([studies, round(100 * rate), seeds])
    learned = source.random((studies, ENCODINGS, seeds)) < rate
    scores = np.where(learned, 0.7 + 0.05 * source.normal(size=(2, studies, ENCODINGS, seeds)), FLOOR)
    endpoints = [list(np.moveaxis(own, 1, 0)) for own in (scores[0], scores.mean(axis=0))]
    tests = np.concatenate([_tested(values, False)[0] for values in endpoints], axis=1)
    pairs, wrong = list(combinations(range(ENCODINGS), 2)), 0
    for study, (counts, own) in enumerate(zip(learned.sum(axis=2).tolist(), tests, strict=True)):
        unable = [not (counts[a] and counts[b]) for a, b in pairs] * 2
        p = [fisher(counts[a], seeds, counts[b], seeds) for a, b in pairs]
        p += np.where(unable, 1.0, own).tolist()
        least = [least_fisher_p(counts[a] + counts[b], seeds, seeds) for a, b in pairs]
        least += [float(no) for no in unable]
        sure = [at for at, corrected in enumerate(holm(p, least, ALPHA)) if corrected < ALPHA]
        wrong += any(at < len(pairs) or _improves(endpoints, study, at - len(pairs)) for at in sure)
    return wrong / studies


def _improves(endpoints: Sequence[Values], study: int, at: int) -> bool:
    """Whether the interval of the probability of improvement lies above one half."""
    pairs = list(combinations(range(len(endpoints[0])), 2))
    values = [endpoints[at // len(pairs)][encoding][study] for encoding in pairs[at % len(pairs)]]
    one, two = sorted(values, key=lambda own: -float(own.mean()))
    return improvement(one, two).low > EVEN


def by_design(encodings: int, seeds: int, studies: int = 2000) -> tuple[float, float]:
    """False claims of one task with so many encodings and seeds.

    The share of studies where all encodings vary alike (the worst of four shapes), and where half of them fail in one
    seed of five and the others have the same mean.
    """
    own = (seeds,) * encodings
    alike = max(false_claims(studies, name, shape, own) for name, shape in ALIKE.items())
    return alike, false_claims(studies, "rare failure in half", REPORTED["rare failure in half"], own)


def rates(studies: int) -> dict[str, float]:
    """All of them, by name."""
    found = {}
    for across in (0.0, 0.5, 0.9):
        for name, shape in ALIKE.items():
            found[f"{name}, {across}"] = false_claims(studies, name, shape, across=across)
    for name, shape in (CONTROLLED | REPORTED).items():
        found[name] = false_claims(studies, name, shape)
    for encodings, seeds in NOT_CONTROLLED:
        found[f"{SKEWED} ({encodings} encodings, {seeds} seeds)"] = false_claims(
            studies, SKEWED, CONTROLLED[SKEWED], (seeds,) * encodings
        )
    for name, shape in LOSSES.items():
        found[name] = false_claims(studies, name, shape, loss=True)
    for few, many in ((5, 8), (8, 5)):
        unequal = (few,) * (ENCODINGS // 2) + (many,) * (ENCODINGS // 2)
        found[f"normal, {few} and {many} seeds"] = false_claims(studies, "normal", ALIKE["normal"], unequal)
        found[f"spread 10 to 1, {few} and {many} seeds"] = false_claims(
            studies, "spread 10 to 1", CONTROLLED["spread 10 to 1"], unequal
        )
    for seeds in (6, 20):
        for rate in (0.3, 0.6, 0.9):
            found[f"learned by {rate}, {seeds} seeds"] = false_claims_of_learning(studies, rate, seeds)
    for name, shape in POWER.items():
        found[f"power: {name}"] = power(studies, shape)
    return found


if __name__ == "__main__":
    print(json.dumps(rates(int(sys.argv[1]) if len(sys.argv) > 1 else 2000), indent=1))
