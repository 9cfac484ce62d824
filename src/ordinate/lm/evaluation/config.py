"""What is evaluated, and on how much: frozen, strict, read from a TOML file."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

from ordinate.core.config import digest, settle
from ordinate.core.errors import InputError, nearest
from ordinate.results.lm_evaluation import Filler
from ordinate.tasks.algorithmic import KINDS
from ordinate.training.config_limits import too_small

FILLERS: tuple[Filler, ...] = get_args(Filler)
PARTS = ("text", "problems", "passkey", "induction")
WINDOWS = ("disjoint", "sliding")


@dataclass(frozen=True)
class TextConfig:
    """Losses of validation text. Contexts are multiples of the trained length."""

    overall: int = 262_144  # tokens of whole documents, once, in windows of the trained length
    tokens: int = 65_536  # of long documents, in windows of each context
    contexts: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    more_contexts: tuple[float, ...] = (1.25, 1.5, 3.0, 6.0)  # for the same targets only, where reach is looked for
    windows: tuple[str, ...] = WINDOWS  # whether those of each context restart, overlap, or both
    stride: float = 0.25  # of sliding windows, in shares of the context
    targets: int = 8_192  # tokens that are scored at every context
    tolerance: float = 0.01  # nats per token that are not called worse
    key_share: float = 0.05  # of the targets that need the context most: see `key_targets`

    def __post_init__(self) -> None:
        problems = settle(self) + too_small(self, overall=1, tokens=1, targets=1, tolerance=0)
        problems += [f"{name} must lie in 1/32 to 64, got {value:g}" for name, value in _shares(self)]
        if 1.0 not in self.contexts:
            problems.append("contexts must hold 1, the trained length, which others are compared with")
        problems += [
            f"unknown windows {kind!r}: {nearest(kind, WINDOWS)}" for kind in self.windows if kind not in WINDOWS
        ]
        for name, share in (("stride", self.stride), ("key_share", self.key_share)):
            if not 0 < share <= 1:
                problems.append(f"{name} must be above 0 and at most 1, got {share:g}")
        _refuse("text", problems)


def _shares(text: TextConfig) -> list[tuple[str, float]]:
    named = [("contexts", value) for value in text.contexts] + [
        ("more_contexts", value) for value in text.more_contexts
    ]
    return [(name, value) for name, value in named if not 1 / 32 <= value <= 64]


@dataclass(frozen=True)
class ProblemConfig:
    """Algorithmic problems as text, of sizes that the training mix has and of larger ones."""

    kinds: tuple[str, ...] = KINDS
    shots: tuple[int, ...] = (0, 4)  # solved problems before the one that is scored
    count: int = 64  # of each kind, range and number of shots

    def __post_init__(self) -> None:
        problems = settle(self) + too_small(self, count=1)
        problems += [f"unknown kind {kind!r}: {nearest(kind, KINDS)}" for kind in self.kinds if kind not in KINDS]
        problems += [f"shots must lie in 0 to 64, got {shots}" for shots in self.shots if not 0 <= shots <= 64]
        _refuse("problems", problems)


@dataclass(frozen=True)
class PasskeyConfig:
    """The grid of the passkey problem."""

    fillers: tuple[str, ...] = FILLERS  # what the key stands in: random digits, or text (a needle in a haystack)
    contexts: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)  # multiples of the trained length
    depths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)  # 0: the key comes first, 1: right before the question
    symbols: int = 5
    count: int = 16  # of each cell

    def __post_init__(self) -> None:
        problems = settle(self) + too_small(self, count=1, symbols=1)
        problems += [f"contexts must lie in 1/4 to 64, got {c:g}" for c in self.contexts if not 1 / 4 <= c <= 64]
        problems += [
            f"unknown filler {name!r}: {nearest(name, FILLERS)}" for name in self.fillers if name not in FILLERS
        ]
        problems += [f"depths must lie in 0 to 1, got {depth:g}" for depth in self.depths if not 0 <= depth <= 1]
        _refuse("passkey", problems)


@dataclass(frozen=True)
class InductionConfig:
    """Repeated random tokens."""

    periods: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0, 2.0)  # of the repetition, in trained lengths
    sequences: int = 8

    def __post_init__(self) -> None:
        problems = settle(self) + too_small(self, sequences=1)
        problems += [f"periods must lie in 1/32 to 32, got {p:g}" for p in self.periods if not 1 / 32 <= p <= 32]
        _refuse("induction", problems)


@dataclass(frozen=True)
class EvalConfig:
    """A whole evaluation."""

    parts: tuple[str, ...] = PARTS
    scaling: tuple[str, ...] = ()  # of the angles, switched on for contexts past the trained length
    seed: int = 0  # of problems and random tokens
    text: TextConfig = field(default_factory=TextConfig)
    problems: ProblemConfig = field(default_factory=ProblemConfig)
    passkey: PasskeyConfig = field(default_factory=PasskeyConfig)
    induction: InductionConfig = field(default_factory=InductionConfig)

    def __post_init__(self) -> None:
        problems = settle(self)
        problems += [f"unknown part {part!r}: {nearest(part, PARTS)}" for part in self.parts if part not in PARTS]
        _refuse("evaluation", problems)

    @property
    def stages(self) -> int:
        """How many there are to report progress of."""
        text, problems = self.text, self.problems
        multiples = {*text.contexts, *text.more_contexts}
        counts = {
            "text": len(text.windows) * len(text.contexts) + len(multiples),
            "problems": 2 * len(problems.kinds) * len(problems.shots),
            "passkey": len(self.passkey.fillers) * len(self.passkey.contexts),
            "induction": len(self.induction.periods),
        }
        past = sum(multiple > 1 for multiple in multiples)
        return max(1, sum(counts[part] for part in self.parts) + len(self.scaling) * past)

    @cached_property
    def id(self) -> str:
        return digest(self)


def _refuse(where: str, problems: list[str]) -> None:
    if problems:
        raise InputError(f"{where}: {'; '.join(problems)}")
