"""The samples of many pairs. Each sample is summarized once, however many pairs it is in: there may be a million."""

from collections.abc import Sequence
from copy import copy

import numpy as np
from jaxtyping import Float, Int, Num

from ordinate.statistics.interval import finite

Values = Sequence[float] | Num[np.ndarray, "..."]


class Sides:
    """The two samples of each pair, by number, and the size, mean and spread of every sample."""

    def __init__(self, pairs: Sequence[tuple[Values, Values]], purpose: str) -> None:
        known: dict[int, int] = {}
        self.values: list[Float[np.ndarray, " n"]] = []  # of each sample, in ascending order
        sides = np.empty((len(pairs), 2), dtype=np.int64)
        for row, pair in enumerate(pairs):
            for side, values in enumerate(pair):
                if id(values) not in known:  # all of them live as long as `pairs` does
                    known[id(values)] = len(self.values)
                    self.values.append(finite(values, purpose))
                sides[row, side] = known[id(values)]
        self.one: Int[np.ndarray, " pairs"] = sides[:, 0]
        self.two: Int[np.ndarray, " pairs"] = sides[:, 1]
        self.n = np.array([len(values) for values in self.values], dtype=np.int64)
        self.least = np.array([values[0] for values in self.values])
        self.most = np.array([values[-1] for values in self.values])
        self.mean = np.array([_mean(values) for values in self.values])
        self.squares = np.array([_squares(values) for values in self.values])  # of the distances from the mean
        self.size = np.array([np.abs(values).sum() for values in self.values])  # of all values together

    def __len__(self) -> int:
        return len(self.one)

    def of(self, pairs: Int[np.ndarray, " some"]) -> "Sides":
        """The same samples in some of the pairs."""
        some = copy(self)
        some.one, some.two = self.one[pairs], self.two[pairs]
        return some


def _mean(values: Float[np.ndarray, " n"]) -> float:
    return float(values[0]) if values[0] == values[-1] else float(values.mean())  # equal ones give no rounding


def _squares(values: Float[np.ndarray, " n"]) -> float:
    return 0.0 if values[0] == values[-1] else float(((values - values.mean()) ** 2).sum())
