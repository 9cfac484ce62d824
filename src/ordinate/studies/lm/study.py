"""A study of language models as data: its comparisons, and the published figures that they are held against."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ordinate.lm.evaluation.config import EvalConfig
from ordinate.studies.lm.comparison import LMComparison, ModelArm, plan_comparison
from ordinate.studies.lm.outcome import LMOutcome, outcome
from ordinate.studies.lm.stored_runs import Records
from ordinate.studies.study_definition import part_errors

Settings = Mapping[str, object]


@dataclass(frozen=True)
class LossSpot:
    """The loss of an arm at a multiple of the trained length, in a part."""

    arm: str
    multiple: float = 1.0

    @property
    def title(self) -> str:
        return self.arm if self.multiple == 1 else f"{self.arm} at {self.multiple:g}x"


@dataclass(frozen=True)
class PublishedRatio:
    """Perplexities of another text cannot be compared with ours; their ratios can."""

    text: str  # where it was published, with the perplexities themselves
    above: LossSpot
    below: LossSpot
    value: float  # of the perplexity of the first over that of the second


@dataclass(frozen=True)
class LMPart:
    """One comparison of a study."""

    name: str
    about: str
    size: str
    arms: tuple[ModelArm, ...]
    seeds: int
    budget: int | None
    settings: Settings
    evaluation: EvalConfig
    published: tuple[PublishedRatio, ...] = ()

    def comparison(self, corpus: str) -> LMComparison:
        """On a corpus; an empty fingerprint serves to look up what was run elsewhere."""
        with part_errors(self.name):
            return plan_comparison(
                self.size, self.arms, self.seeds, self.budget, corpus, self.settings, self.evaluation
            )


@dataclass(frozen=True)
class LMStudy:
    """A question, and the comparisons that answer it."""

    name: str
    typed: str  # what a command calls it: its name, or the path of its file
    title: str
    question: str
    source: str
    parts: tuple[LMPart, ...]


class Direction(StrEnum):
    """Whether measured ratios lie on the same side of 1 as a published one."""

    SAME = "same direction"  # in all seeds
    OTHER = "other direction"  # in all seeds
    OPEN = "seeds disagree"


@dataclass(frozen=True)
class LMPartOutcome:
    """What was found in one comparison."""

    part: LMPart
    found: LMOutcome

    def ratios(self, published: PublishedRatio) -> list[float]:
        """Of perplexities, one for each seed that has both: seeds are paired."""
        above, below = (
            dict(zip(self.found.of(spot.arm), self.found.losses(spot.arm, spot.multiple), strict=True))
            for spot in (published.above, published.below)
        )
        pairs = [(above[seed], below.get(seed)) for seed in above]
        return [math.exp(a - b) for a, b in pairs if a is not None and b is not None]

    def direction(self, published: PublishedRatio) -> Direction | None:
        """None without a measured ratio."""
        sides = {(ratio > 1) == (published.value > 1) for ratio in self.ratios(published)}
        if not sides:
            return None
        return Direction.OPEN if len(sides) > 1 else Direction.SAME if sides == {True} else Direction.OTHER


@dataclass(frozen=True)
class LMStudyOutcome:
    """All parts of a study."""

    study: LMStudy
    parts: tuple[LMPartOutcome, ...]
    again: str  # the command that goes on with it

    @property
    def finished(self) -> bool:
        return all(part.found.finished for part in self.parts)

    @property
    def missing(self) -> int:
        """Runs that are still to be done; parts share some."""
        return len({run for part in self.parts for run in part.found.missing_runs})


def study_outcome(
    study: LMStudy, corpus: str, sources: Sequence[Records], again: str, failures: Mapping[str, str] | None = None
) -> LMStudyOutcome:
    """Each part from the first source that has all of it, else from the first one."""
    parts = [LMPartOutcome(part, outcome(part.comparison(corpus), sources, failures)) for part in study.parts]
    return LMStudyOutcome(study, tuple(parts), again)
