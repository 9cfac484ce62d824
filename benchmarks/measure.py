"""Ratios of things that were timed in turns."""

import statistics
from dataclasses import asdict, dataclass

from ordinate.training.timing import in_turns

__all__ = ["Row", "compare", "in_turns"]


@dataclass(frozen=True)
class Row:
    """One comparison: a ratio, what was required and what was hoped for."""

    what: str
    against: str
    ratio: float
    low: float  # the 10th and 90th percentile of the ratios of single rounds
    high: float
    required: str = ""
    goal: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        if not self.required:
            return ""
        sign, bound = self.required.split()
        return "ok" if (self.ratio <= float(bound) if sign == "<=" else self.ratio >= float(bound)) else "MISSED"

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"verdict": self.verdict}


def compare(
    times: dict[str, list[float]], what: str, against: str, *, required: str = "", goal: str = "", speed: bool = False
) -> Row:
    """Best time of one over best time of the other; for `speed` the other way round (how many times faster)."""
    a, b = times[what], times[against]
    if speed:
        a, b = b, a
    single = [x / y for x, y in zip(a, b, strict=True)]
    cuts = statistics.quantiles(single, n=10, method="inclusive") if len(single) > 1 else [single[0]] * 9
    return Row(what, against, min(a) / min(b), cuts[0], cuts[-1], required, goal, min(times[what]))
