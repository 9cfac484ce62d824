"""Losses of text as sums by document: means over tokens, their errors over documents, and how far a context helps."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ordinate.core.errors import InputError
from ordinate.statistics.distributions import quantile

RESAMPLES = 2_000


@dataclass(frozen=True)
class DocumentLosses:
    """Sums, one entry per document. Tokens of one document depend on each other, so documents are what is resampled."""

    loss: tuple[float, ...]  # nats
    tokens: tuple[int, ...]
    bytes: tuple[int, ...]

    @property
    def documents(self) -> int:
        return len(self.loss)

    @property
    def total_tokens(self) -> int:
        return sum(self.tokens)

    @property
    def per_token(self) -> float:
        """Nats per token: a ratio of sums, so long documents count by their tokens."""
        return math.fsum(self.loss) / max(self.total_tokens, 1)

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.per_token, 700.0))

    @property
    def bits_per_byte(self) -> float:
        """Comparable between tokenizers."""
        return math.fsum(self.loss) / math.log(2) / max(sum(self.bytes), 1)

    @property
    def error(self) -> float | None:
        """The standard error of the loss per token over documents; none of a single document."""
        return _ratio_error(self.loss, self.tokens)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the loss per token over documents."""
        return None if self.error is None else _interval(self.per_token, self.error, self.documents)


@dataclass(frozen=True)
class LossDifference:
    """How much more loss per token one has than another on the same tokens, with its 95 % interval over documents."""

    mean: float
    error: float | None
    low: float | None
    high: float | None


def difference(losses: DocumentLosses, other: DocumentLosses) -> LossDifference:
    """Paired by document: what makes a document hard cancels."""
    if losses.tokens != other.tokens:
        raise InputError("losses are compared on the same tokens of the same documents; these are of others")
    gaps = tuple(a - b for a, b in zip(losses.loss, other.loss, strict=True))
    mean, error = math.fsum(gaps) / max(losses.total_tokens, 1), _ratio_error(gaps, losses.tokens)
    if error is None:
        return LossDifference(mean, None, None, None)
    return LossDifference(mean, error, *_interval(mean, error, losses.documents))


def _interval(mean: float, error: float, documents: int) -> tuple[float, float]:
    half = error * quantile(0.975, float(documents - 1))
    return mean - half, mean + half


def _ratio_error(sums: tuple[float, ...], tokens: tuple[int, ...]) -> float | None:
    """Of a ratio of sums, linearized: documents' deviations from the overall ratio."""
    n, total = len(sums), sum(tokens)
    if n < 2 or not total:
        return None
    ratio = math.fsum(sums) / total
    squares = math.fsum((loss - ratio * count) ** 2 for loss, count in zip(sums, tokens, strict=True))
    return math.sqrt(n / (n - 1) * squares) / total


@dataclass(frozen=True)
class ContextReach:
    """The longest context at which the loss per token is no worse than at the trained length, in tokens."""

    context: float
    low: float | None  # 95 % interval over documents; none of a single document
    high: float | None
    trained: int
    longest: int  # tested: a reach that is as long may be longer
    tolerance: float  # nats per token that are not called worse

    @property
    def at_least(self) -> bool:
        return self.context >= self.longest > self.trained


def context_reach(trained: int, by_context: Mapping[int, DocumentLosses], tolerance: float) -> ContextReach | None:
    """Where the loss on the same tokens first exceeds that at the trained length by the tolerance.

    Between two tested contexts the loss is taken to be linear in the logarithm of the context. None without a loss at
    the trained length.
    """
    contexts = sorted(context for context in by_context if context >= trained)
    if trained not in by_context:
        return None
    tokens = by_context[trained].tokens
    if any(by_context[context].tokens != tokens for context in contexts):
        raise InputError("reach is of losses on the same tokens at every context; these are of others")
    losses = np.array([by_context[context].loss for context in contexts]).T  # documents by contexts
    counts, n = np.array(tokens, dtype=np.float64), len(tokens)
    excess = losses - losses[:, :1]
    found = _crossing(contexts, excess.sum(axis=0) / counts.sum(), tolerance)
    if n < 2:
        return ContextReach(found, None, None, trained, contexts[-1], tolerance)
    weights = np.random.default_rng(list(b"reach")).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    means = (weights @ excess) / np.maximum(weights @ counts, 1)[:, None]
    low, high = np.quantile([_crossing(contexts, row, tolerance) for row in means], [0.025, 0.975])
    return ContextReach(found, float(low), float(high), trained, contexts[-1], tolerance)


def _crossing(contexts: list[int], excess: Float[np.ndarray, " contexts"], tolerance: float) -> float:
    worse = np.flatnonzero(excess > tolerance)
    if not len(worse):
        return float(contexts[-1])
    at = int(worse[0])  # never the first: its excess is zero
    share = (tolerance - excess[at - 1]) / (excess[at] - excess[at - 1])
    return float(contexts[at - 1] * (contexts[at] / contexts[at - 1]) ** share)
