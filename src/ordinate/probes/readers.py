"""Linear readers: how much of a number a ridge regression recovers from vectors, on vectors that it was not fitted to.

    w = argmin ||X w - y||^2 + PENALTY n ||w||^2,    R^2 = 1 - sum (y - X w)^2 / sum (y - mean y)^2

with standardized columns of X and an intercept. R^2 is 1 for a perfect reader and 0 for one that knows the mean alone;
below 0, what was fitted does not carry over.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ordinate.core.errors import InputError

PENALTY = 1e-4


def ridge(
    x: Float[Tensor, "n f"], y: Float[Tensor, "n targets"], held_out: Bool[Tensor, " n"]
) -> Float[Tensor, "held targets"]:
    """What a reader fitted to the other rows says of the held-out ones."""
    fitted, features = int((~held_out).sum()), x.shape[1]
    if fitted < 2 or not held_out.any():
        raise InputError(f"a linear reader needs examples to fit and others to test, got {len(x)}: give more of them")
    x, y = x.double(), y.double()
    center, spread = x[~held_out].mean(dim=0), x[~held_out].std(dim=0, correction=0)
    x = (x - center) / spread.where(spread > 1e-12, 1.0)
    seen, mean = x[~held_out], y[~held_out].mean(dim=0)
    gram = seen.T @ seen + PENALTY * fitted * torch.eye(features, dtype=x.dtype)
    weights = torch.linalg.solve(gram, seen.T @ (y[~held_out] - mean))
    read: Tensor = x[held_out] @ weights + mean
    return read


def determination(read: Float[Tensor, "n targets"], true: Float[Tensor, "n targets"]) -> float:
    """R^2, over all targets together."""
    true = true.double()
    total = (true - true.mean(dim=0)).square().sum()
    return float(1 - (true - read).square().sum() / total) if total > 0 else 0.0


def recovered(x: Float[Tensor, "n f"], y: Float[Tensor, " n"], held_out: Bool[Tensor, " n"]) -> float:
    """R^2 of one number on the held-out rows."""
    return determination(ridge(x, y[:, None], held_out), y[held_out, None])


def pair_features(one: Float[Tensor, "n f"], other: Float[Tensor, "n f"]) -> Float[Tensor, "n f3"]:
    """What a reader of a relation gets: both vectors and their product by channel. Products are what attention scores
    are made of; with sines and cosines they hold the cosine of the difference."""
    return torch.cat((one, other, one * other), dim=1)
