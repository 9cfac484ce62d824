"""What each head looks at, as numbers: attention by distance, entropy, shares of places, and what content changes.

Letters: b batch, h heads, n tokens. A is the attention of one head, A[i, j] the weight of query i on key j.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.core.task import Task
from ordinate.model import Transformer, watch_attention

CELLS = 2**24  # weights of one layer that are held at once: 64 MB in float32, unless two sequences have more
Attend = Callable[[Callable[[int, Tensor], None]], None]  # runs a model and hands over the weights of each layer


@dataclass(frozen=True)
class HeadPattern:
    """One head of one layer, counted from 1, on sequences of one length.

    by_distance: mean of A[i, i - r] over queries i that have such a key, for r = `first_distance`, ...
    entropy: mean over queries of -sum_j A[i, j] log A[i, j], in nats; log n if attention is spread evenly over n keys.
    on_first: mean of A[i, 0] over queries after the first. on_target: mean sum of A[i, j] over the positions j that the
    task says the answer of query i is read from; none where it names none.
    evenness: mean of sum_j min(A[i, j], 1 / keys that i sees): 1 if spread evenly.
    content: mean over sequences of sum_j |A[i, j] - mean A[i, j]| / 2: 0 if the same positions get the same attention
    whatever the tokens are, toward 1 if tokens decide.
    """

    layer: int
    head: int
    length: int
    first_distance: int
    by_distance: tuple[float, ...]
    entropy: float
    on_first: float
    on_target: float | None
    evenness: float
    content: float

    def at(self, distance: int) -> float:
        """The mean weight on the key so many positions back; 0 if no query has one."""
        index = distance - self.first_distance
        return self.by_distance[index] if 0 <= index < len(self.by_distance) else 0.0

    @property
    def offset(self) -> int:
        """The distance with the largest mean weight, among those that at least half of the queries have."""
        half = (self.length + 1) // 2
        return max(range(max(self.first_distance, -half), half + 1), key=self.at)


@dataclass(frozen=True, eq=False)
class Targets:
    """Where the answers of a batch are read from: one entry per sequence, query and key, and how many queries have an
    answer."""

    entries: Int[Tensor, "count 3"]
    answered: int

    @staticmethod
    def of(task: Task, tokens: Int[Tensor, "b n"]) -> "Targets":
        each = [task.answer_positions(row) for row in tokens.tolist()]
        entries = [
            (row, query, key) for row, queries in enumerate(each) for query, keys in enumerate(queries) for key in keys
        ]
        answered = sum(bool(keys) for queries in each for keys in queries)
        return Targets(torch.tensor(entries, dtype=torch.long).view(-1, 3), answered)

    def share(self, weights: Float[Tensor, "b n n"]) -> float | None:
        """The mean attention of queries on their targets."""
        row, query, key = self.entries.unbind(dim=1)
        return float(weights[row, query, key].double().sum()) / self.answered if self.answered else None


NO_TARGETS = Targets(torch.empty(0, 3, dtype=torch.long), 0)


def attention_of(model: Transformer, tokens: Int[Tensor, "b n"], positions: Tensor) -> Attend:
    """The attention of our own transformer, one layer at a time."""

    def run(receive: Callable[[int, Tensor], None]) -> None:
        with torch.inference_mode(), watch_attention(model, lambda layer, weights, _: receive(layer, weights)):
            model(tokens, positions=positions)

    return run


def rows_that_fit(heads: int, tokens: int) -> int:
    """How many sequences may attend at once; two, at least, to tell content from position."""
    return max(2, CELLS // (heads * tokens**2))


def patterns(attend: Attend, *, causal: bool, targets: Targets = NO_TARGETS) -> list[HeadPattern]:
    """Of all heads, layer by layer."""
    found: list[HeadPattern] = []

    def measure(layer: int, weights: Float[Tensor, "b h n n"]) -> None:
        for head in range(weights.shape[1]):
            found.append(head_pattern(weights[:, head].float(), layer + 1, head + 1, causal=causal, targets=targets))

    attend(measure)
    return found


def head_pattern(
    weights: Float[Tensor, "b n n"], layer: int, head: int, *, causal: bool, targets: Targets = NO_TARGETS
) -> HeadPattern:
    """The numbers of one head."""
    n = weights.shape[-1]
    mean = weights.mean(dim=0)
    seen = torch.arange(1, n + 1) if causal else torch.full((n,), n)
    even = torch.ones(n, n).tril() / seen[:, None] if causal else torch.full((n, n), 1 / n)
    content = sum(float((row - mean).abs().sum(dim=-1).mean()) / 2 for row in weights) / len(weights)
    entropy = sum(float(torch.special.entr(row).sum(dim=-1).mean()) for row in weights) / len(weights)
    evenness = sum(float(torch.minimum(row, even).sum(dim=-1).mean()) for row in weights) / len(weights)
    return HeadPattern(
        layer, head, n, 0 if causal else 1 - n, by_distance(mean, causal=causal), entropy,
        float(mean[1:, 0].mean()) if n > 1 else 1.0, targets.share(weights), evenness, content,
    )  # fmt: skip


def by_distance(mean: Float[Tensor, "n n"], *, causal: bool) -> tuple[float, ...]:
    """The mean of each diagonal: distance 0 back to n - 1, preceded by those ahead where queries look ahead."""
    n = len(mean)
    index = torch.arange(n)
    apart = (index[:, None] - index + n - 1).flatten()
    sums = torch.zeros(2 * n - 1, dtype=torch.float64).index_add_(0, apart, mean.flatten().double())
    diagonals = sums / (n - (torch.arange(2 * n - 1) - (n - 1)).abs())
    return tuple((diagonals[n - 1 :] if causal else diagonals).tolist())
