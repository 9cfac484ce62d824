"""A random permutation of any size that is computed, not stored."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.core.errors import InputError

ROUNDS = 8  # four are enough for large counts; below a hundred, positions are visibly uneven with four
_WORD = 2**64 - 1


def permuted(index: NDArray[np.integer[Any]] | int, count: int, key: int) -> NDArray[np.int64]:
    """Where a shuffle of `range(count)` puts each index: a bijection for every key, the same on every machine.

    A Feistel network shuffles the next larger square of a power of two; what falls outside `count` is sent through
    again until it falls inside (cycle walking), which takes four turns or fewer on average.
    """
    indices = np.asarray(index, dtype=np.int64)
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise InputError(f"an index must be at least 0 and below {count:,}, got {indices.min():,} to {indices.max():,}")
    half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
    walked = indices.astype(np.uint64).reshape(-1)
    outside = np.arange(walked.size)
    while outside.size:
        walked[outside] = _feistel(walked[outside], half, key)
        outside = outside[walked[outside] >= count]
    return walked.astype(np.int64).reshape(indices.shape)


def _feistel(indices: NDArray[np.uint64], half: np.uint64, key: int) -> NDArray[np.uint64]:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = indices >> half, indices & mask
    for turn in range(ROUNDS):
        salt = _mixed(np.array([(key + (turn + 1) * 0x9E3779B97F4A7C15) & _WORD], dtype=np.uint64))
        left, right = right, left ^ (_mixed(right + salt) & mask)
    return left << half | right


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of the word (the end of splitmix64, Steele and others 2014)."""
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)
