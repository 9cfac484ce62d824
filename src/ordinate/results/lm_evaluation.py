"""The evaluation of a trained language model: rows by protocol, each with sums and counts."""

from dataclasses import dataclass
from typing import Literal, TypedDict

from ordinate.statistics.document_losses import ContextReach, DocumentLosses, context_reach

# disjoint: windows restart; sliding: windows overlap; same targets: the same tokens at every context; key tokens: those
# of them that need the context
WindowProtocol = Literal["disjoint", "sliding", "same targets", "key tokens"]
DocumentSet = Literal["all", "long"]  # long: with room for the longest context
ProblemRange = Literal["in range", "out of range"]
Filler = Literal["digits", "text"]  # what a passkey stands in: random digits, as in training, or validation text


class TextSettings(TypedDict):
    tolerance: float


class EvaluationSettings(TypedDict):
    """All settings; those that results are read with are named."""

    text: TextSettings


@dataclass(frozen=True)
class ContextRow:
    """The loss of text under one protocol: `stride` tokens are scored per window of `context` tokens."""

    protocol: WindowProtocol
    text: DocumentSet
    context: int
    stride: int
    scaling: str  # empty: as trained
    losses: DocumentLosses | None
    reason: str = ""  # why there are none


@dataclass(frozen=True)
class PositionRow:
    """The loss of tokens with `first` to `last` tokens before them, in disjoint windows of `context` tokens."""

    context: int
    first: int
    last: int
    losses: DocumentLosses


@dataclass(frozen=True)
class ProblemRow:
    """One kind of algorithmic problem. Sums over problems."""

    kind: str
    range: ProblemRange
    shots: int
    problems: int
    exact: int  # problems whose whole answer is right: what greedy decoding would give
    symbols: int  # of all answers
    right: int  # symbols that are the likeliest among those that answers can have
    loss: float  # nats, of all answers
    chance_exact: float  # of the best guess without reading the question
    chance_symbol: float
    longest: int  # problem, in tokens
    reason: str = ""  # why there is no score


@dataclass(frozen=True)
class PasskeyCell:
    """Recalling letters from a context of so many tokens: depth 0 is its start."""

    filler: Filler
    context: int
    depth: float
    problems: int
    exact: int
    symbols: int
    right: int
    loss: float
    reason: str = ""


@dataclass(frozen=True)
class InductionRow:
    """Random tokens, and the same tokens again: a model that copies by matching predicts the second half."""

    period: int  # tokens of each half
    first: DocumentLosses | None  # one entry per sequence
    second: DocumentLosses | None
    reason: str = ""  # why there are none


@dataclass(frozen=True)
class LanguageModelEvaluation:
    """What a checkpoint scores, and how it was measured."""

    name: str  # of its folder
    sha256: str  # of the checkpoint
    size: str
    encoding: str
    seed: int
    parameters: int
    length: int  # trained
    tokens: int  # trained on
    decayed: bool
    remark: str  # what to know before reading on
    past_range: str  # what the encoding does past the trained length
    mix: float  # share of algorithmic problems in training
    corpus: str  # fingerprint
    documents: int  # that were read
    long_documents: int  # of these, with room for the longest context
    long_tokens: int  # how many that needs
    precision: str
    seconds: float
    settings: EvaluationSettings
    contexts: tuple[ContextRow, ...] = ()
    positions: tuple[PositionRow, ...] = ()
    problems: tuple[ProblemRow, ...] = ()
    passkey: tuple[PasskeyCell, ...] = ()
    induction: tuple[InductionRow, ...] = ()

    def row(
        self, protocol: WindowProtocol, context: int, *, text: DocumentSet = "long", scaling: str = ""
    ) -> ContextRow | None:
        wanted = (protocol, context, text, scaling)
        return next((r for r in self.contexts if (r.protocol, r.context, r.text, r.scaling) == wanted), None)

    def by_context(self, protocol: WindowProtocol, scaling: str = "") -> dict[int, DocumentLosses]:
        """The losses of long documents under a protocol, where there are any."""
        found = (row for row in self.contexts if (row.protocol, row.text, row.scaling) == (protocol, "long", scaling))
        return {row.context: row.losses for row in found if row.losses is not None}

    @property
    def overall(self) -> DocumentLosses | None:
        """All documents at the trained length."""
        row = self.row("disjoint", self.length, text="all")
        return None if row is None else row.losses

    def reach(self, scaling: str = "") -> ContextReach | None:
        """On the same tokens at every context."""
        at = self.by_context("same targets")
        if scaling and self.length in at:
            at = {self.length: at[self.length]} | self.by_context("same targets", scaling)
        return context_reach(self.length, at, float(self.settings["text"]["tolerance"]))
