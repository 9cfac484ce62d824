"""Two published mechanisms of attention, measured: variance of averaged values by position, and softmax by length."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.seeds import generator
from ordinate.model import ModelConfig, Transformer

VOCABULARY, SEQUENCES, LENGTH = 512, 64, 256
SKIPPED = 8  # first positions, whose averages are of few values
QUIET = 0.02  # std of weights: scores are then so small that attention is an average


@dataclass(frozen=True)
class ValueVariance:
    """Var of the weighted values by position n, over sequences and channels, in layer 1 of a frozen random model
    without encoding; and the slope of log variance over log n. An average of n independent values has 1/n: slope -1."""

    causal: bool
    positions: tuple[int, ...]
    variance: tuple[float, ...]
    slope: float


def value_variance(*, causal: bool, seed: int = 0) -> ValueVariance:
    """Chi et al. 2023 (arXiv 2305.13571): what a causal model without encoding can know position by."""
    config = ModelConfig(
        vocabulary=VOCABULARY, encoding="none", dim=64, heads=4, layers=1, length=LENGTH, causal=causal, dropout=0.0,
        init_std=QUIET,
    )  # fmt: skip
    model = Transformer(config, seed=seed).eval()
    draw = generator(seed, "probe", "value variance")
    tokens = torch.randint(VOCABULARY, (SEQUENCES, LENGTH), generator=draw)
    found: list[Float[Tensor, "b n d"]] = []
    hook = model.blocks[0].attention.output.register_forward_pre_hook(lambda _, inputs: found.append(inputs[0]))  # type: ignore[union-attr]
    try:
        with torch.inference_mode():
            model(tokens)
    finally:
        hook.remove()
    variance = found[0].double().var(dim=0).mean(dim=-1)
    at = torch.arange(1, LENGTH + 1, dtype=torch.float64)
    slope = log_slope(at[SKIPPED:].tolist(), variance[SKIPPED:].tolist())
    return ValueVariance(causal, tuple(range(1, LENGTH + 1)), tuple(variance.tolist()), slope)


def log_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The least-squares slope of log y over log x: the exponent of a power law."""
    logs = torch.tensor([[math.log(a), math.log(b)] for a, b in zip(x, y, strict=True)], dtype=torch.float64)
    centered = logs - logs.mean(dim=0)
    return float((centered[:, 0] * centered[:, 1]).sum() / centered[:, 0].square().sum())


def largest_weight(others: int, score: float = 3.0, rest: float = -2.0) -> float:
    """The softmax weight of one score among so many lower ones: e^3 / (e^3 + n e^-2). It goes to 0 as n grows."""
    scores = torch.full((others + 1,), rest, dtype=torch.float64)
    scores[0] = score
    return float(scores.softmax(dim=0)[0])
