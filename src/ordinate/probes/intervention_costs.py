"""What interventions cost a run on its task: the score before, minus the score after."""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Literal

from ordinate.core.errors import InputError
from ordinate.core.task import Batch
from ordinate.probes.head_names import NamedHead
from ordinate.probes.interventions import (
    frozen,
    patched_head,
    permuted,
    removed_heads,
    shifted,
    switched_off,
    wavelengths,
    without_band,
)
from ordinate.probes.subject import ProbeSubject

SHORT = 8.0  # positions per turn: shorter wavelengths tell neighbors apart
MOST_HEADS = 64  # that are removed one by one

Kind = Literal["positions", "head removed", "head patched", "heads removed", "band removed"]
# permute: positions in another order; shift past: by the trained length, to positions that no training had; shift
# within: shorter sequences, moved inside the trained positions; freeze: all at one position; off: no encoding
PositionIntervention = Literal["permute", "shift past", "shift within", "freeze", "off"]


@dataclass(frozen=True)
class Intervention:
    """The task's metric before and after, on the same sequences; after is None where the encoding cannot do it."""

    kind: Kind
    name: str
    length: int
    before: float
    after: float | None
    lower_is_better: bool

    @property
    def cost(self) -> float | None:
        """How much worse the score becomes."""
        if self.after is None:
            return None
        return self.after - self.before if self.lower_is_better else self.before - self.after


class InterventionScorer:
    """Scores one model under interventions, on sequences that all of them share."""

    def __init__(self, subject: ProbeSubject, length: int, sequences: int) -> None:
        self.subject, self.length, self.batch = subject, length, subject.examples(length, sequences)
        before = self.score(self.batch)
        if before is None:
            raise InputError(f"{subject.encoding} cannot take sequences of {length} tokens")
        self.before = before

    def score(self, batch: Batch, change: AbstractContextManager[None] | None = None) -> float | None:
        """In the metric; none if the positions exceed what an encoding takes, or the score is not finite."""
        with change or nullcontext():
            value = self.subject.score(batch, self.length)
        return value if value is None or math.isfinite(value) else None

    def result(self, kind: Kind, name: str, after: float | None) -> Intervention:
        return Intervention(kind, name, self.length, self.before, after, self.subject.lower_is_better)

    def changed(self, kind: Kind, name: str, change: AbstractContextManager[None]) -> Intervention:
        """The model changed, the batch as it is."""
        return self.result(kind, name, self.score(self.batch, change))

    def moved(self, name: PositionIntervention, batch: Batch) -> Intervention:
        """The batch at other positions, the model as it is."""
        return self.result("positions", name, self.score(batch))


def position_interventions(subject: ProbeSubject, sequences: int) -> Iterator[Intervention]:
    """Positions permuted, shifted and frozen, and the encoding switched off."""
    scorer = InterventionScorer(subject, subject.length, sequences)
    batch, positions = scorer.batch, scorer.batch.positions
    assert positions is not None
    yield scorer.moved("permute", replace(batch, positions=permuted(positions, len(batch.tokens))))
    yield scorer.moved("shift past", replace(batch, positions=shifted(positions, subject.trained_length)))
    yield from _shift_within(subject, sequences)
    yield scorer.moved("freeze", replace(batch, positions=frozen(positions)))
    yield scorer.changed("positions", "off", switched_off(subject.model))


def _shift_within(subject: ProbeSubject, sequences: int) -> Iterator[Intervention]:
    """Shorter sequences, moved to the end of the trained range."""
    if subject.shift_within is not None:
        length, by = subject.shift_within
        scorer = InterventionScorer(subject, length, sequences)
        batch = scorer.batch
        assert batch.positions is not None
        yield scorer.moved("shift within", replace(batch, positions=shifted(batch.positions, by)))


def head_interventions(subject: ProbeSubject, heads: Sequence[NamedHead], sequences: int) -> Iterator[Intervention]:
    """Every head removed, every head that has an ideal pattern patched by it, and all that look at the same place
    removed together: where one of them is enough, none costs anything alone."""
    scorer, model = InterventionScorer(subject, subject.length, sequences), subject.model
    for head in sorted(heads, key=lambda head: -max(head.score.values()))[:MOST_HEADS]:
        yield scorer.changed("head removed", head.name, removed_heads(model, [(head.layer, head.head)]))
        if head.role in ("offset", "first", "uniform"):
            change = patched_head(model, head.layer, head.head, head.role, head.offset or 0)
            yield scorer.changed("head patched", head.name, change)
    for group in alike(heads):
        own = [(head.layer, head.head) for head in group]
        yield scorer.changed("heads removed", group_name(group), removed_heads(model, own))


def alike(heads: Sequence[NamedHead]) -> list[list[NamedHead]]:
    """Two heads or more that look at the same place."""
    groups: dict[tuple[str, int | None], list[NamedHead]] = {}
    for head in heads:
        if head.role in ("offset", "first", "induction"):
            groups.setdefault((head.role, head.offset), []).append(head)
    return [group for group in groups.values() if len(group) > 1]


def group_name(heads: Sequence[NamedHead]) -> str:
    """`2.1, 2.3`: layers and heads."""
    return ", ".join(f"{head.layer}.{head.head}" for head in heads)


def band_interventions(subject: ProbeSubject, sequences: int) -> Iterator[Intervention]:
    """Short, middle and long wavelengths removed, where channels have any."""
    length = float(subject.trained_length)
    found = [waves for part in subject.model.parts if (waves := wavelengths(part)) is not None]
    if not found:
        return
    scorer = InterventionScorer(subject, subject.length, sequences)
    bands = {
        f"wavelengths up to {SHORT:g}": (0.0, SHORT),
        f"wavelengths of {SHORT:g} to {length:g}": (SHORT, length),
        f"wavelengths above {length:g}": (max(length, SHORT), math.inf),
    }
    for name, (low, high) in bands.items():
        if any(((waves > low) & (waves <= high)).any() for waves in found):
            yield scorer.changed("band removed", name, without_band(subject.model, low, high))
