"""Two encodings seed by seed: an exact test, its correction for many pairs, and how many seeds a claim needs."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Num

from ordinate.core.errors import InputError
from ordinate.statistics.interval import finite

EXACT = 20  # pairs; beyond, signs are drawn
DRAWS = 100_000
BLOCK = 2_000  # draws at a time, so that even a thousand pairs take 16 MB
ROUNDING = 1e-12  # of the largest sum: sums closer than this are the same sum, added in another order


def sign_flip(differences: Sequence[float] | Num[np.ndarray, " n"]) -> float:
    """How often random signs would give a mean at least as far from zero: two-sided, exact up to 20 pairs.

    Without a difference between two encodings, a seed's difference is as likely to have the other sign.
    """
    found = finite(differences, "a sign-flip test")
    sizes = np.sort(np.abs(found))  # the test may depend neither on the order nor on who is subtracted from whom
    least = abs(float(found.sum())) - ROUNDING * float(sizes.sum())
    if least <= 0:
        return 1.0
    if len(sizes) <= EXACT:
        return _count(sizes, least) / (1 << len(sizes))
    source = np.random.default_rng(list(b"sign flip"))
    extreme = 0
    for _ in range(DRAWS // BLOCK):
        signs = 2.0 * source.integers(2, size=(BLOCK, len(sizes)), dtype=np.int8) - 1
        extreme += int((np.abs(signs @ sizes) >= least).sum())
    return (extreme + 1) / (DRAWS + 1)  # the signs that were seen are one of the draws: p is never 0


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
