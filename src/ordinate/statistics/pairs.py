"""Two encodings seed by seed: an exact test, its correction for many pairs, and how many seeds a claim needs."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Num

from ordinate.core.errors import InputError
from ordinate.statistics.interval import PLENTY, finite

EXACT = 20  # pairs; beyond, signs are drawn
DRAWS = 100_000
BLOCK = 2_000  # draws at a time, so that even a thousand pairs take 16 MB
ROUNDING = 1e-12  # of the largest sum: sums closer than this are the same sum, added in another order


def sign_flip(differences: Sequence[float] | Num[np.ndarray, " n"]) -> float:
    """How often random signs would give a mean at least as far from zero: two-sided, exact up to 20 pairs.

    Without a difference between two encodings, a seed's difference is as likely to have the other sign.
    """
    return sign_flips([differences])[0]


def sign_flips(many: Sequence[Sequence[float] | Num[np.ndarray, "..."]]) -> list[float]:
    """The test for each of many; where signs have to be drawn, all share the draws."""
    found = [finite(differences, "a sign-flip test") for differences in many]
    # the test may depend neither on the order nor on who is subtracted from whom
    sizes = [np.sort(np.abs(values))[::-1] for values in found]
    least = [abs(float(v.sum())) - ROUNDING * float(s.sum()) for v, s in zip(found, sizes, strict=True)]
    p = [1.0] * len(found)
    drawn = []
    for index, (size, bound) in enumerate(zip(sizes, least, strict=True)):
        if bound <= 0:
            continue
        if len(size) <= EXACT:
            p[index] = _count(size, bound) / (1 << len(size))
        elif len(size) <= PLENTY:
            drawn.append(index)
        else:  # a sum of so many signs is normal
            p[index] = math.erfc(bound / math.sqrt(2 * float(size @ size)))
    for index, value in zip(drawn, _drawn([sizes[i] for i in drawn], [least[i] for i in drawn]), strict=True):
        p[index] = value
    return p


def _drawn(sizes: list[Float[np.ndarray, "..."]], least: list[float]) -> list[float]:
    """By drawing signs. The signs that were seen are one of the draws: p is never 0."""
    if not sizes:
        return []
    table = np.zeros((max(map(len, sizes)), len(sizes)))  # a difference of 0 has no sign
    for column, size in enumerate(sizes):
        table[: len(size), column] = size
    source, extreme = np.random.default_rng(list(b"sign flip")), np.zeros(len(sizes), dtype=np.int64)
    for _ in range(DRAWS // BLOCK):
        signs = 2.0 * source.integers(2, size=(BLOCK, len(table)), dtype=np.int8) - 1
        extreme += (np.abs(signs @ table) >= np.array(least)).sum(axis=0)
    return [(int(count) + 1) / (DRAWS + 1) for count in extreme]


def _count(sizes: Float[np.ndarray, " n"], least: float) -> int:
    """How many of the 2ⁿ signs give a sum of at least this, up or down.

    A sum is one of the first half's plus one of the second half's: with the latter sorted, nobody need add them up.
    """
    first, second = _sums(sizes[::2]), np.sort(_sums(sizes[1::2]))
    above = len(second) - np.searchsorted(second, least - first, side="left")
    below = np.searchsorted(second, -least - first, side="right")
    return int(above.sum() + below.sum())


def _sums(sizes: Float[np.ndarray, " n"]) -> Float[np.ndarray, " signs"]:
    """The sums under all signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate((sums + size, sums - size))
    return sums


def holm(p: Sequence[float]) -> list[float]:
    """Corrected p values, in the order given: those below alpha have a risk of alpha that any is false (Holm 1979)."""
    if not all(0 <= value <= 1 for value in p):
        raise InputError(f"p values lie between 0 and 1, got {', '.join(f'{value:g}' for value in p)}")
    corrected, largest = [0.0] * len(p), 0.0
    for place, index in enumerate(sorted(range(len(p)), key=lambda index: p[index])):
        largest = max(largest, min(1.0, (len(p) - place) * p[index]))
        corrected[index] = largest
    return corrected


def seeds_needed(encodings: int, alpha: float = 0.05) -> int:
    """The fewest seeds with which some pair can be claimed: n seeds give no p below 2 / 2ⁿ, times all pairs."""
    if encodings < 2:
        raise InputError(f"a claim compares at least 2 encodings, got {encodings}")
    if not 0 < alpha <= 1:
        raise InputError(f"the risk of a false claim (alpha) lies between 0 and 1, got {alpha}")
    pairs = encodings * (encodings - 1) // 2
    seeds = 1
    while 2 / 2**seeds * pairs >= alpha:
        seeds += 1
    return seeds
