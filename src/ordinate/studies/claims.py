"""What becomes of a published claim in one comparison of a study, with the numbers that decide it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ordinate.statistics.replication import Order, PairOrder, order, pair_orders
from ordinate.statistics.types import TaskAnalysis
from ordinate.studies import measures
from ordinate.studies.study_definition import PublishedClaim
from ordinate.studies.study_outcome import PartOutcome

SeedCount = tuple[int, int]  # so many of so many seeds


@dataclass(frozen=True)
class ClaimOutcome:
    """What the seeds say of a claim, and why."""

    order: Order
    pairs: Mapping[tuple[str, str], PairOrder] = field(default_factory=dict)  # by better and worse encoding
    learned: Mapping[str, SeedCount] = field(default_factory=dict)
    extrapolated: Mapping[str, SeedCount] = field(default_factory=dict)  # seeds at the bar on the headline range


def claim_outcome(claim: PublishedClaim, part: PartOutcome) -> ClaimOutcome | None:
    """None if an encoding of the claim is not measured here, or not in all seeds yet."""
    if not part.finished or any(part.part.encoding(name) is None for name in claim.names):
        return None
    return _order(claim, part) if claim.better else _counts(claim, part)


def _order(claim: PublishedClaim, part: PartOutcome) -> ClaimOutcome | None:
    """An encoding that cannot be evaluated there is below all that can."""
    measure = measures.find(claim.measure)
    seeds = max((len(values) for (*_, name), values in part.values.items() if name == claim.measure), default=0)
    worst = (math.inf if claim.lower else -math.inf,) * seeds
    better, worse = (
        [part.measured(encoding, claim.measure) or worst for encoding in side] for side in (claim.better, claim.worse)
    )
    found = pair_orders(better, worse, lower=claim.lower, margin=0.0 if measure.relative else measure.margin)
    named = [(one, two) for one in claim.better for two in claim.worse]
    outcome = order(found)
    return None if outcome is None else ClaimOutcome(outcome, dict(zip(named, found, strict=True)))


def _counts(claim: PublishedClaim, part: PartOutcome) -> ClaimOutcome | None:
    """Whether each encoding does in more than half of the seeds what was published; exactly half shows nothing.

    One whose budget was cut while it was still rising may learn the task later: its failure shows nothing.
    """
    if part.comparison is None:
        return None
    task = part.comparison.analysis.tasks[0]
    own = {name: part.part.encoding(name) or "" for name in claim.names}
    learned = {name: task.learned.get(own[name], (0, 0)) for name in (*claim.learns, *claim.fails)}
    beyond = {name: _at_bar(task, own[name]) for name in (*claim.extrapolates, *claim.collapses)}
    if not all(of for _, of in (*learned.values(), *beyond.values())):
        return None
    done = [_share(learned[n]) for n in claim.learns] + [_share(beyond[n]) for n in claim.extrapolates]
    done += [1 - _share(learned[n]) for n in claim.fails] + [1 - _share(beyond[n]) for n in claim.collapses]
    steps = [task.steps.get(own[name]) for name in (*claim.fails, *claim.collapses)]
    cut = any(own and own.fastest and own.rising for own in steps)
    found = Order.REFUTED if min(done) < 0.5 else Order.OPEN if min(done) == 0.5 or cut else Order.HOLDS
    return ClaimOutcome(found, learned=learned, extrapolated=beyond)


def _share(count: SeedCount) -> float:
    return count[0] / count[1]


def _at_bar(task: TaskAnalysis, encoding: str) -> SeedCount:
    """Seeds at the bar on the headline range; a length that cannot be evaluated is below it."""
    cell = task.shown.cell(encoding)
    good = sum(score is not None and task.bar is not None and score >= task.bar for score in cell.scores)
    return good, len(cell.seeds)
