"""Fisher's exact test: did one encoding learn a task in more seeds than another?"""

import math
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from ordinate.core.errors import InputError

ROUNDING = 1e-9  # tables this close are equally likely, computed in another order


@lru_cache(maxsize=1_000_000)
def fisher(one: int, of_one: int, two: int, of_two: int) -> float:
    """Two-sided: how often chance, with as many successes in all, gives a table that is no likelier than this one."""
    if not (0 <= one <= of_one and 0 <= two <= of_two):
        raise InputError(f"successes lie between 0 and all, got {one} of {of_one} and {two} of {of_two}")
    chances = _chances(one + two, of_one, of_two)
    seen = chances[one - max(0, one + two - of_two)]
    return min(1.0, math.fsum(chances[chances <= seen * (1 + ROUNDING)].tolist()))


@lru_cache(maxsize=1_000_000)
def least_p(successes: int, of_one: int, of_two: int) -> float:
    """The smallest p that so many successes in all can give: as many as possible on one side."""
    fewest, most = max(0, successes - of_two), min(successes, of_one)
    return min(fisher(one, of_one, successes - one, of_two) for one in (fewest, most))


@lru_cache(maxsize=16)
def _chances(successes: int, of_one: int, of_two: int) -> Float[np.ndarray, " tables"]:
    """The hypergeometric probability of each number of successes on the first side, from the fewest on."""
    k = np.arange(max(0, successes - of_two), min(successes, of_one) + 1)
    other = successes - k
    ways = _factorials(of_one)[of_one] - _factorials(of_one)[k] - _factorials(of_one)[of_one - k]
    ways += _factorials(of_two)[of_two] - _factorials(of_two)[other] - _factorials(of_two)[of_two - other]
    everything = math.lgamma(of_one + of_two + 1) - math.lgamma(successes + 1)
    chances: Float[np.ndarray, " tables"] = np.exp(ways - (everything - math.lgamma(of_one + of_two - successes + 1)))
    return chances


@lru_cache(maxsize=16)
def _factorials(n: int) -> Float[np.ndarray, " n"]:
    """The logarithms of 0! to n!."""
    return np.array([math.lgamma(k + 1) for k in range(n + 1)])
