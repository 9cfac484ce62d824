"""Heads named by what they do, each with a score between 0 and 1: how fully it does that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.seeds import generator
from ordinate.probes.attention_patterns import Attend, HeadPattern

# offset: a fixed number of positions back (1: the previous token, 0: itself); by distance: position decides, but the
# weight is spread over several; mixed: neither position nor content decides alone
Role = Literal["offset", "first", "induction", "uniform", "content", "by distance", "mixed"]

FOCUSED = 0.5  # of the attention on one place
EVEN = 0.9  # of the attention as if all keys were alike
POSITIONAL = 0.25  # share of the attention that content moves, at most, for position to decide
SHORTEST_PERIOD = 4  # tokens that are repeated to find induction


@dataclass(frozen=True)
class NamedHead:
    """What a head does at the trained length, and how much it does the same at every tested length.

    score, by length: offset: mean A[i, i - offset]; first: mean A[i, 0]; uniform: evenness; content: the share that
    content moves; by distance: 1 minus that share (see `HeadPattern`). induction, at the trained length alone: mean
    weight on the tokens that followed earlier occurrences of the current token.
    """

    layer: int
    head: int
    role: Role
    offset: int | None  # positions back; of an offset head
    score: dict[int, float]  # by length
    on_target: dict[int, float]  # by length; empty where the task names no target

    @property
    def name(self) -> str:
        return f"layer {self.layer} head {self.head}"


def role_of(pattern: HeadPattern, induction: float | None) -> tuple[Role, int | None]:
    """The most specific role that a head has."""
    offset = pattern.offset
    places: dict[Role, float] = {
        "offset": pattern.at(offset), "first": pattern.on_first, "induction": induction or 0.0,
    }  # fmt: skip
    best = max(places, key=lambda role: places[role])
    if places[best] >= FOCUSED:
        return best, offset if best == "offset" else None
    if pattern.evenness >= EVEN:
        return "uniform", None
    if pattern.content >= FOCUSED:
        return "content", None
    return ("by distance" if pattern.content <= POSITIONAL else "mixed"), None


def _score(role: Role, offset: int | None, pattern: HeadPattern) -> float:
    if role == "offset":
        assert offset is not None
        return pattern.at(offset)
    if role == "by distance":
        return 1 - pattern.content
    return {
        "first": pattern.on_first, "uniform": pattern.evenness, "content": pattern.content, "mixed": pattern.content,
    }[role]  # fmt: skip


def name_heads(
    by_length: Mapping[int, Sequence[HeadPattern]], trained: int, induction: Sequence[float] | None
) -> list[NamedHead]:
    """All heads, by layer. `by_length` holds the patterns of the same heads at each length."""
    found = []
    for index, pattern in enumerate(by_length[trained]):
        own = None if induction is None else induction[index]
        role, offset = role_of(pattern, own)
        same = {length: patterns[index] for length, patterns in by_length.items()}
        if role == "induction":
            assert own is not None
            scores = {trained: own}
        else:
            scores = {length: _score(role, offset, one) for length, one in same.items()}
        targets = {length: one.on_target for length, one in same.items() if one.on_target is not None}
        found.append(NamedHead(pattern.layer, pattern.head, role, offset, scores, targets))
    return found


def repeated_tokens(vocabulary: int, length: int, rows: int) -> list[tuple[int, Int[Tensor, "b n"]]]:
    """Random tokens that repeat with a period, for two periods: a head at a fixed distance fits one of them at most.

    Empty if the sequence is too short, or the vocabulary too small, for a period of different tokens.
    """
    longest = min(length // 2, vocabulary)
    found = []
    for period in (longest, longest - 2):
        if period < SHORTEST_PERIOD:
            return []
        order = torch.rand(rows, vocabulary, generator=generator(0, "probe", "repeated", period)).argsort(dim=1)
        found.append((period, order[:, :period].repeat(1, -(-length // period))[:, :length]))
    return found


def induction_scores(attends: Sequence[tuple[int, Attend]]) -> list[float]:
    """For every head the mean weight on the tokens after earlier occurrences of the current one, the smaller of the two
    periods: sum over m of A[i, i - m period + 1] for i >= period."""
    by_period = []
    for period, attend in attends:
        scores: list[float] = []

        def measure(layer: int, weights: Tensor, period: int = period, scores: list[float] = scores) -> None:
            mean = weights.float().mean(dim=0)
            n = mean.shape[-1]
            i, j = torch.arange(n)[:, None], torch.arange(n)
            follows = ((i - j + 1) % period == 0) & (j <= i) & (i - j + 1 >= period)
            scores.extend((mean * follows).sum(dim=-1)[:, period:].mean(dim=-1).tolist())

        attend(measure)
        by_period.append(scores)
    return [min(scores) for scores in zip(*by_period, strict=True)]
