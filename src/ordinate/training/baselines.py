"""Scores that need no order: a result at or below them shows nothing about an encoding.

Three readers are fitted to one sample of a task and scored on another. All give log-probabilities, so a task scored by
loss has baselines that are losses (and no verdicts, which alone need a floor).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.seeds import generator
from ordinate.core.task import Batch, Task

Logits = Float[Tensor, "*answers classes"]
Reader = Callable[[Task, Batch], Callable[[Batch], Logits]]

SEQUENCES = 40_000  # for a score of one half: a standard error of a quarter of a point
FEATURES = 2**24  # the most numbers that the counts of one sample may take: 64 MB
ROWS, WORK = 16_384, 2**26  # answers to fit, and the most multiplications per round: keeps a fit below two seconds


@dataclass(frozen=True)
class Baselines:
    """Scores, in the task's metric, that need no encoding; and the floor that follows from them."""

    chance: float
    majority: float
    position_only: float
    bag_of_tokens: float
    floor: float


def possible(task: Task, numbers: dict[str, float]) -> bool:
    """Whether these can be the baselines of a task: all of them, each a score, and the floor that follows."""
    if numbers.keys() != {field.name for field in fields(Baselines)}:
        return False
    most = math.inf if task.metric == "loss" else 1.0
    scores = {name: value for name, value in numbers.items() if name != "floor"}
    return all(0 <= value <= most for value in scores.values()) and floor(task, **scores) == numbers["floor"]


def baselines(task: Task, length: int, split: str = "id", *, beyond: int = 0, seed: int = 0) -> Baselines:
    """All baselines of a task at one length. The same arguments always give the same numbers.

    With `beyond`, only answers at tokens from there on count: what lies past the trained length.
    """
    per_answer = max(2 * task.vocabulary, task.classes)
    per_sequence = per_answer * (task.width(length) if task.readout == "tokens" else 1)
    count = max(1, min(SEQUENCES, FEATURES // per_sequence))
    fit, held = (
        task.sample(count, length, generator(seed, "baselines", part, task.name, length, split), drawn)
        for part, drawn in (("fit", "train" if split == "id" else split), ("held out", split))
    )
    chance = task.chance(length, split)
    majority, position, *bags = (score(task, reader(task, fit)(held), held, beyond) for reader in READERS)
    bag = min(bags) if task.direction == "lower" else max(bags)
    return Baselines(chance, majority, position, bag, floor(task, chance, majority, position, bag))


def floor(task: Task, chance: float, majority: float, position_only: float, bag_of_tokens: float) -> float:
    """The best of them. A bag of tokens counts only where the task declares that order matters."""
    scores = [chance, majority, position_only] + [bag_of_tokens] * task.needs_order
    return min(scores) if task.direction == "lower" else max(scores)


def score(task: Task, logits: Logits, batch: Batch, beyond: int = 0) -> float:
    """The task's metric over what its score is taken over."""
    scored, targets = _scored(task, batch), batch.targets
    if beyond:
        scored = scored & (torch.arange(scored.shape[-1]) >= beyond)
    if task.metric == "loss":
        return F.cross_entropy(logits[scored], targets[scored]).item()
    right = logits.argmax(dim=-1) == targets
    if task.metric == "exact":
        return (right | ~scored).view(len(targets), -1).all(dim=1).float().mean().item()
    return right[scored].float().mean().item()


def majority(task: Task, fit: Batch) -> Callable[[Batch], Logits]:
    """Always gives the most frequent answer."""
    line = _frequencies(task, fit.targets[_scored(task, fit)])
    return lambda batch: line.expand(*batch.targets.shape, -1)


def position_only(task: Task, fit: Batch) -> Callable[[Batch], Logits]:
    """Gives the most frequent answer at each position. A sequence with one answer has one position."""
    if task.readout != "tokens":
        return majority(task, fit)
    scored = _scored(task, fit)
    lines = [_frequencies(task, fit.targets[scored[:, t], t]) for t in range(scored.shape[1])]
    return lambda batch: torch.stack(lines).expand(*batch.targets.shape, -1)


def bag_of_tokens(task: Task, fit: Batch) -> Callable[[Batch], Logits]:
    """A logistic reader of how often each token occurs among those that can be seen."""
    scored = _scored(task, fit)
    x, y = _shares(task, fit)[scored], fit.targets[scored]
    rows = min(ROWS, WORK // (x.shape[1] * task.classes))
    if rows < x.shape[1]:  # too few to fit so many weights: they would be memorized
        return majority(task, fit)
    some = torch.randperm(len(x), generator=generator(0, "baselines", "rows"))[:rows]
    weight = _logistic(x[some], y[some], task.classes)
    return lambda batch: F.linear(_shares(task, batch), weight[:, :-1], weight[:, -1])


def most_frequent(task: Task, fit: Batch) -> Callable[[Batch], Logits]:
    """Answers with the commonest visible token: no fit, so it holds where a vocabulary is too large for one."""
    if task.classes > task.vocabulary:
        return majority(task, fit)
    return lambda batch: (_shares(task, batch)[..., : task.classes] + 1e-3).log()


READERS: tuple[Reader, ...] = (majority, position_only, bag_of_tokens, most_frequent)


def _scored(task: Task, batch: Batch) -> Bool[Tensor, "*answers"]:
    """The targets that the task's score is taken over: the first of its groups."""
    return next(iter(task.groups(batch.tokens, batch.targets).values()))


def _frequencies(task: Task, targets: Int[Tensor, " answers"]) -> Float[Tensor, " classes"]:
    # half a count more for each: no answer is impossible, so losses stay finite
    counts = torch.bincount(targets, minlength=task.classes).float() + 0.5
    return (counts / counts.sum()).log()


def _shares(task: Task, batch: Batch) -> Float[Tensor, "... features"]:
    """The share of every id among the visible tokens. A token that answers also knows itself: which it is, the share
    of its like, and whether it is the only one."""
    tokens = batch.tokens
    b, n = tokens.shape
    if task.readout != "tokens":
        return torch.zeros(b, task.vocabulary).scatter_add(1, tokens, torch.ones(b, n)) / n
    own = F.one_hot(tokens, task.vocabulary).float()
    if task.form == "causal":
        counts, visible = own.cumsum(dim=1), torch.arange(1, n + 1)[:, None]
    else:
        counts, visible = own.sum(dim=1, keepdim=True).expand_as(own), torch.tensor(n)
    like = counts.gather(2, tokens[:, :, None])
    return torch.cat((counts / visible, own, like / visible, like == 1), dim=-1)


def _logistic(
    x: Float[Tensor, "rows features"], y: Int[Tensor, " rows"], classes: int
) -> Float[Tensor, "classes weights"]:
    """Weights and, last, the constant of a multinomial logistic regression, on features of one common spread."""
    spread = x.std(dim=0)
    spread = torch.where(spread > 0, spread, 1.0)
    ones = torch.ones(len(x), 1)
    scaled = torch.cat(((x - x.mean(dim=0)) / spread, ones), dim=1)
    weight = torch.zeros(classes, scaled.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], max_iter=40, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        # the penalty keeps perfectly separable classes from growing weights for ever
        loss = F.cross_entropy(scaled @ weight.T, y) + 1e-4 * weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    fitted = weight.detach()
    inner = fitted[:, :-1] / spread
    return torch.cat((inner, fitted[:, -1:] - (inner @ x.mean(dim=0))[:, None]), dim=1)
