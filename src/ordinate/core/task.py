"""The protocol that every task follows.

Letters: b batch, n tokens, axes position axes (text 1, grid 2).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ordinate.core.errors import InputError, nearest

MOST_ITEMS = 2**20  # different ids that a task may have: four times the largest vocabularies in use
UNSCORED = -100  # a target that no loss and no score looks at; the number that torch's cross-entropy leaves out

MULTIPLES = (1.25, 1.5, 2, 3, 4)  # of the longest trained length: what is tested beyond it

TaskFamily = Literal["position", "distance", "matching", "counting", "copying"]
Form = Literal["causal", "bidirectional"]
Readout = Literal["tokens", "mean", "first", "last", "readout"]
Metric = Literal["accuracy", "exact", "loss"]


@dataclass(frozen=True)
class Batch:
    """Problems of one length with their answers. Positions are given where plain counting is not meant; they are each
    sequence's own, or one row that all share."""

    tokens: Int[Tensor, "b n"]
    targets: Int[Tensor, "b n"] | Int[Tensor, " b"]
    positions: Int[Tensor, "#b n axes"] | None = None

    def rows(self, start: int, stop: int) -> "Batch":
        """Some of the problems."""
        shared = self.positions is None or len(self.positions) == 1
        positions = self.positions if shared else self.positions[start:stop]  # type: ignore[index]
        return Batch(self.tokens[start:stop], self.targets[start:stop], positions)


class Task(ABC):
    """A kind of problem that can be drawn in any number and length, and whose answers are known.

    Subclasses define a constructor with keyword parameters only, annotated with
    `Annotated[type, Param(...)]`. The docstring's first paragraph is shown to users.
    """

    family: ClassVar[TaskFamily]
    variants: ClassVar[tuple[dict[str, Any], ...]] = ()  # further parameters that the tests of every task cover

    def __init__(
        self,
        *,
        vocabulary: int,
        classes: int,
        form: Form = "causal",
        readout: Readout = "tokens",
        metric: Metric = "accuracy",
        bar: float = 0.95,
        most_steps: int = 2000,
        train_lengths: tuple[int, int] = (8, 32),
        longer: tuple[int, ...] | None = None,
        control: str = "",
        shortest: int = 1,
        longest: int | None = None,
        because: str = "",
        needs_order: bool = True,
        positive_control: bool = False,
        axes: int = 1,
        splits: tuple[str, ...] = ("id",),
        dataset: int | None = None,
        specials: dict[int, str] | None = None,
    ) -> None:
        """Declared by each instance, because parameters decide it.

        vocabulary, classes: how many ids there are on the input and on the output side. readout: an answer at every
        token, or one per sequence, read from the mean, the first or the last token, or a token that the model adds.
        metric: `exact` wants all answers of a sequence right. bar: the score at which a task counts as solved.
        most_steps: the largest budget of a run, about twice what the slowest of the usual encodings needs.
        train_lengths: a range, both ends included. longer: the lengths tested beyond it; none: the multiples of the
        longest trained in `MULTIPLES`. control: why no model should learn the task, if so. shortest, longest, because:
        the lengths that can be made, and what limits them. needs_order: counts of tokens must not suffice.
        positive_control: every encoding should solve it, so equal scores are expected. splits:
        `shift` where the same length can also be drawn at positions unseen in training. dataset: train on this
        many fixed sequences, not on fresh ones.
        specials: how ids that are not items are written.
        """
        self.name = type(self).__module__.rpartition(".")[2]
        self.vocabulary, self.classes = vocabulary, classes
        self.form: Form = form
        self.readout: Readout = readout
        self.metric: Metric = metric
        self.bar = bar
        self.train_lengths = (max(train_lengths[0], shortest), train_lengths[1])
        self.most_steps, self.longer, self.control = most_steps, longer, control
        self.shortest, self.longest, self.because = shortest, longest, because
        self.needs_order, self.axes, self.splits = needs_order, axes, splits
        self.positive_control = positive_control
        self.dataset = dataset
        self.specials = specials or {}

    @property
    def direction(self) -> Literal["higher", "lower"]:
        """Which scores are the better ones."""
        return "lower" if self.metric == "loss" else "higher"

    def sample(self, count: int, length: int, generator: torch.Generator, split: str = "id") -> Batch:
        """Draw problems of one length. All randomness comes from the generator.

        `id` is what evaluation draws; `train` is the same unless a task has so few problems that some must be held out.
        """
        if count < 1:
            raise InputError(f"{self.name} cannot draw {count} problems: the number must be at least 1")
        self.check_length(length)
        self.check_split(split)
        return self.generate(count, length, generator, split)

    @abstractmethod
    def generate(self, count: int, length: int, generator: torch.Generator, split: str) -> Batch:
        """What `sample` does once its arguments are known to be good."""

    @abstractmethod
    def chance(self, length: int, split: str = "id") -> float:
        """The score of the best answer that looks at nothing; for a loss, that of a uniform guess."""

    @abstractmethod
    def solve(self, tokens: list[int]) -> list[int]:
        """The targets of one problem, one per token or a single one, worked out in plain Python."""

    @abstractmethod
    def example(self) -> list[int]:
        """The tokens of one problem that is small enough to be read."""

    def answer_positions(self, tokens: list[int]) -> list[tuple[int, ...]]:
        """For each token of a problem, the positions that its answer is read from, beside its own; none where it has no
        answer. Pictures of attention mark them. An empty list: the task does not say."""
        return []

    def beyond(self, trained: int) -> tuple[int, ...]:
        """The lengths that are tested beyond a trained one: the task's own, or multiples."""
        if self.longer is not None and (not self.longer or trained == self.train_lengths[1]):
            return self.longer
        multiples = (round(multiple * trained) for multiple in MULTIPLES)
        return tuple(dict.fromkeys(length for length in multiples if length > trained))

    def sides(self, length: int) -> tuple[int, ...]:
        """How many tokens a problem of this length has along each axis."""
        return (length,)

    def width(self, length: int) -> int:
        """How many tokens a problem of this length has."""
        return math.prod(self.sides(length))

    def groups(self, tokens: Int[Tensor, "b n"], targets: Int[Tensor, "*shape"]) -> dict[str, Bool[Tensor, "*shape"]]:
        """Kinds of targets that are reported apart, as masks. The first one is what the task's score is taken over."""
        return {"all": targets != UNSCORED}

    def check_length(self, length: int) -> None:
        """Refuse a length that cannot be made."""
        if length < self.shortest or (self.longest is not None and length > self.longest):
            made = f"at least {self.shortest}" if self.longest is None else f"{self.shortest} to {self.longest}"
            why = f" ({self.because})" if self.because else ""
            raise InputError(f"{self.name} makes lengths of {made}{why}, got {length}")

    def check_split(self, split: str) -> None:
        """Refuse a split that the task does not have."""
        if split not in (*self.splits, "train"):
            raise InputError(f"{self.name} has no split {split!r}: {nearest(split, self.splits)}")

    def show(self, tokens: list[int], targets: list[int]) -> str:
        """One problem as a person would write it; a dot where there is no target."""
        answers = ["." if target == UNSCORED else self.answer(target) for target in targets]
        return f"{' '.join(map(self.word, tokens))} -> {' '.join(answers)}"

    def word(self, token: int) -> str:
        """One token as a person would write it."""
        return self.specials.get(token, str(token))

    def answer(self, target: int) -> str:
        """One target as a person would write it."""
        return str(target)


def letter(item: int) -> str:
    """A, B, C ...; past Z the number itself."""
    return chr(ord("A") + item) if item < 26 else str(item)
