"""Fisher's exact test: did one encoding learn a task in more seeds than another?"""

import math
from functools import cache

from ordinate.core.errors import InputError

ROUNDING = 1e-9  # tables this close are equally likely, computed in another order


@cache
def fisher(one: int, of_one: int, two: int, of_two: int) -> float:
    """Two-sided: how often chance, with as many successes in all, gives a table that is no likelier than this one."""
    if not (0 <= one <= of_one and 0 <= two <= of_two):
        raise InputError(f"successes lie between 0 and all, got {one} of {of_one} and {two} of {of_two}")
    chances = _chances(one + two, of_one, of_two)
    first = max(0, one + two - of_two)
    seen = chances[one - first]
    return min(1.0, math.fsum(chance for chance in chances if chance <= seen * (1 + ROUNDING)))


def least_p(successes: int, of_one: int, of_two: int) -> float:
    """The smallest p that so many successes in all can give: as many as possible on one side."""
    fewest, most = max(0, successes - of_two), min(successes, of_one)
    return min(fisher(one, of_one, successes - one, of_two) for one in (fewest, most))


@cache
def _chances(successes: int, of_one: int, of_two: int) -> tuple[float, ...]:
    """The hypergeometric probability of each number of successes on the first side, from the fewest on."""
    everything = _ways(of_one + of_two, successes)
    fewest, most = max(0, successes - of_two), min(successes, of_one)
    return tuple(
        math.exp(_ways(of_one, k) + _ways(of_two, successes - k) - everything) for k in range(fewest, most + 1)
    )


def _ways(n: int, k: int) -> float:
    """The logarithm of n over k."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
