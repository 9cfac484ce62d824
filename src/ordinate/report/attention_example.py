"""A kept example of a run: its tokens, who looks at whom, and what each head looks at."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from ordinate.core.errors import InputError
from ordinate.store.files import read_bytes

if TYPE_CHECKING:
    from ordinate.core.task import Task

ANSWER = "the target"  # where the task says that a query's answer stands
FOCUSED = (
    2.0  # times what attention that is spread evenly has on a place: with less on all of them, a head is spread out
)


@dataclass(frozen=True, eq=False)
class AttentionHead:
    """One head of one layer, counted from 1. `shares`: the mean share of its attention on each measured place; `even`:
    that of attention which is spread evenly over what a query may see."""

    layer: int
    number: int
    weights: Float[np.ndarray, "queries keys"]
    shares: dict[str, float]
    even: dict[str, float]

    @property
    def name(self) -> str:
        return f"L{self.layer} H{self.number}"

    @property
    def looks(self) -> str:
        """`0.93 on the target`: the place with the largest share; the target, if others have as much."""
        notable = {place: share for place, share in self.shares.items() if share >= FOCUSED * self.even[place]}
        place, share = max(notable.items(), key=lambda item: item[1], default=("", 0.0))
        return f"{share:.2f} on {place}" if place else "spread out"


@dataclass(frozen=True, eq=False)
class AttentionExample:
    """`layers` are [head, query, key]. Tokens are as the task writes them; both they and the positions that answers are
    read from are empty where this program does not know the task."""

    layers: tuple[NDArray[np.float32], ...]
    tokens: tuple[str, ...] = ()
    answers: tuple[tuple[int, ...], ...] = ()
    causal: bool = True
    side: int = 0  # of a square grid of tokens; 0: they stand in a line

    @property
    def marks(self) -> list[tuple[int, int]]:
        """Query and key wherever a query's answer stands."""
        return [(query, key) for query, keys in enumerate(self.answers) for key in keys]

    def spot(self, position: int) -> str:
        """`14 (B)`, and on a grid `row 2, column 3 (B)`."""
        row, column = divmod(position, self.side or 1)
        where = f"row {row}, column {column}" if self.side else str(position)
        return f"{where} ({self.tokens[position]})" if position < len(self.tokens) else where

    @cached_property
    def heads(self) -> list[AttentionHead]:
        """Those that look most at the target first, where the task names one; else the most focused first."""
        found = [
            AttentionHead(layer, number, weights, self._shares(weights), self.even)
            for layer, heads in enumerate(self.layers, 1)
            for number, weights in enumerate(heads, 1)
        ]
        return sorted(found, key=lambda head: -head.shares.get(ANSWER, max(head.shares.values(), default=0.0)))

    def _shares(self, weights: Float[np.ndarray, "queries keys"]) -> dict[str, float]:
        """Means over the queries that have such a place."""
        weights = np.nan_to_num(weights, posinf=0.0)  # of a run that diverged
        on_answers = np.array([weights[query, list(keys)].sum() for query, keys in enumerate(self.answers) if keys])
        places: dict[str, Float[np.ndarray, " _"]] = {
            ANSWER: on_answers,
            "the previous token": weights.diagonal(-1),
            "the first token": weights[1:, 0],
            "itself": weights.diagonal()[1:],
        }
        return {place: float(values.mean()) for place, values in places.items() if len(values)}

    @cached_property
    def even(self) -> dict[str, float]:
        """The shares of a head that spreads its attention evenly over what a query may see."""
        visible = np.ones(self.layers[0].shape[-2:], dtype=np.float32)
        visible = np.tril(visible) if self.causal else visible
        return self._shares(visible / visible.sum(axis=-1, keepdims=True))

    def looks_at(self, weights: Float[np.ndarray, "queries keys"], query: int, most: int = 3) -> str:
        """`17 (C) looks at 14 (A) 0.97, 16 (B) 0.02; its answer is at 14 (A)`."""
        row = np.nan_to_num(weights[query])
        best = [key for key in np.argsort(-row, kind="stable")[:most].tolist() if row[key] >= 0.005]
        seen = ", ".join(f"{self.spot(key)} {row[key]:.2f}" for key in best)
        text = f"{self.spot(query)} looks at {seen or 'nothing'}"
        keys = self.answers[query] if query < len(self.answers) else ()
        if len(keys) > most:
            return f"{text}; its answer depends on {len(keys)} positions"
        return f"{text}; its answer is at {', '.join(map(self.spot, keys))}" if keys else text


def read_examples(path: Path, task: str) -> list[AttentionExample]:
    """The examples of `attention.safetensors`, of a run on this task."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        kept = load(read_bytes(path))
        count = sum(key.startswith("layer_") for key in kept)
        layers = [np.asarray(kept[f"layer_{index}"], dtype=np.float32) for index in range(count)]
        if not layers or any(layer.ndim != 4 or not layer.size for layer in layers):
            raise ValueError
    except (OSError, InputError, SafetensorError, KeyError, ValueError) as error:
        kind = type(error).__name__
        raise InputError(f"the attention maps cannot be read ({kind}): train the run again to draw them") from error
    tokens, known = kept.get("tokens"), _known(task)
    return [
        _example([layer[index] for layer in layers], None if tokens is None else tokens[index], known)
        for index in range(min(len(layer) for layer in layers))
    ]


def _known(task: str) -> "Task | None":
    """The task, unless it is a plug-in or a data file that is not at hand."""
    from ordinate import tasks

    try:
        return tasks.parse(task)[1]
    except InputError:
        return None


def _example(
    layers: Sequence[NDArray[np.float32]], tokens: NDArray[np.int64] | None, task: "Task | None"
) -> AttentionExample:
    if tokens is None or task is None or len(tokens) > layers[0].shape[-1]:
        return AttentionExample(tuple(layers))
    numbers = [int(token) for token in tokens]
    try:
        answers, words = task.answer_positions(numbers), tuple(map(task.word, numbers))
    except (LookupError, ValueError):  # the task of that name has changed since
        return AttentionExample(tuple(layers))
    side = round(len(numbers) ** 0.5) if task.axes == 2 else 0
    causal = task.form == "causal"
    return AttentionExample(tuple(layers), words, tuple(answers), causal, side if side**2 == len(numbers) else 0)
