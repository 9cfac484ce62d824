"""What probes need of a model that was trained here, whatever it was trained on."""

from typing import Protocol, runtime_checkable

from ordinate.core.task import Batch
from ordinate.model import Transformer
from ordinate.probes.attention_patterns import Targets


@runtime_checkable
class ProbeSubject(Protocol):
    """Both models are in evaluation mode, on the CPU."""

    @property
    def model(self) -> Transformer: ...

    @property
    def untrained(self) -> Transformer:
        """The same model before training."""

    @property
    def encoding(self) -> str:
        """As a user writes it."""

    @property
    def seed(self) -> int: ...

    @property
    def metric(self) -> str:
        """What it is scored by."""

    @property
    def lower_is_better(self) -> bool: ...

    @property
    def learned(self) -> bool:
        """Whether it can do what it is scored on."""

    @property
    def length(self) -> int:
        """Of the sequences that it is probed with."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """At which attention is measured: those that the encoding can take, `length` among them."""

    @property
    def trained_length(self) -> int:
        """Positions from here on had no training."""

    @property
    def shift_within(self) -> tuple[int, int] | None:
        """A shorter length, and how far such sequences may move within the trained positions; None where none may."""

    @property
    def repeatable(self) -> bool:
        """Whether any tokens may stand in any order, so that some can be repeated."""

    @property
    def gradient_norms(self) -> tuple[tuple[int, float], ...]:
        """Of the whole model through training, by step."""

    def width(self, length: int) -> int:
        """Tokens of a sequence of this length."""

    def examples(self, length: int, count: int, *, shared: bool = False) -> Batch:
        """Sequences that were not trained on, with explicit positions; `shared`: one row of positions for all."""

    def targets(self, batch: Batch) -> Targets:
        """Where the answers are read from, as far as that is known."""

    def score(self, batch: Batch, length: int) -> float | None:
        """In the metric; None if the encoding does not take the positions."""
