"""Whether the effect of a setting depends on how long a run was trained: the interaction of a split-plot design."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import incomplete_beta


@dataclass(frozen=True)
class Interaction:
    """An F test, with the degrees of freedom of the Geisser-Greenhouse lower bound."""

    f: float
    freedom: tuple[float, float]
    p: float


def interaction(groups: Sequence[Float[np.ndarray, "seeds times"]]) -> Interaction:
    """Groups of runs that differ in a setting, each run measured at the same several times.

    Measurements of one run are not independent, and their differences need not vary alike (sphericity). The lower bound
    of Geisser and Greenhouse (1958) divides the degrees of freedom by the number of times less one, which is
    conservative whatever the covariances are.
    """
    times = {group.shape[1] for group in groups}
    if len(groups) < 2 or len(times) != 1 or min(times) < 2 or min(len(group) for group in groups) < 2:
        raise InputError("an interaction needs at least two groups of two runs, each measured at the same two times")
    count = times.pop()
    runs = [group - group.mean(axis=1, keepdims=True) for group in groups]  # a run's own level does not count
    total = sum(len(group) for group in groups)
    over_all = np.concatenate(runs).mean(axis=0)
    between = sum(len(own) * float(((own.mean(axis=0) - over_all) ** 2).sum()) for own in runs)
    within = sum(float(((own - own.mean(axis=0)) ** 2).sum()) for own in runs)
    above, below = len(groups) - 1.0, float(total - len(groups))  # the lower bound: once, not count - 1 times
    f = (between / above) / (within / below) if within else np.inf if between else 0.0
    x = np.array([below / (below + above * f) if np.isfinite(f) else 0.0])
    p = float(incomplete_beta(np.array([below / 2]), np.array([above / 2]), x)[0]) if count else 1.0
    return Interaction(float(f), (above, below), p)
