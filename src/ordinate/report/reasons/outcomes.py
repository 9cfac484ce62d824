"""What became of every prediction of the reasons study."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ordinate.report.study_tables import claim_text
from ordinate.report.table import Column, Table
from ordinate.statistics.phrases import listed
from ordinate.statistics.replication import Order
from ordinate.studies.claims import claim_outcome
from ordinate.studies.study_definition import PublishedClaim
from ordinate.studies.study_outcome import PartOutcome, StudyOutcome

_PREDICTED = re.compile(r"^(?P<reason>.*) \(predicted: (?P<prediction>.*)\)$")


@dataclass(frozen=True)
class ReasonOutcome:
    """One usual reason: what was predicted of it, and what became of it on each task that was run."""

    name: str  # `Size`
    order: str  # what must hold if the reason is right
    prediction: str
    orders: Mapping[str, Order]  # by task
    texts: Mapping[str, str]  # the same with numbers

    @property
    def found(self) -> str:
        """`holds on k_back; not shown on first_last`."""
        by_order: dict[Order, list[str]] = {}
        for task, order in self.orders.items():
            by_order.setdefault(order, []).append(task)
        return "; ".join(f"{order} on {listed(tasks)}" for order, tasks in by_order.items()) or "not run yet"

    @property
    def survives(self) -> bool | None:
        """Whether it holds wherever it was tested; none: not run yet."""
        return all(order is Order.HOLDS for order in self.orders.values()) if self.orders else None


def reason_outcomes(outcome: StudyOutcome) -> list[ReasonOutcome]:
    """In the order of the study's file."""
    return [_reason(claim, outcome.parts) for claim in outcome.study.claims]


def _reason(claim: PublishedClaim, parts: Sequence[PartOutcome]) -> ReasonOutcome:
    whole = _PREDICTED.match(claim.text)
    text, prediction = (whole["reason"], whole["prediction"]) if whole else (claim.text, "nothing")
    name, _, order = text.partition(": ")
    orders, texts = dict[str, Order](), dict[str, str]()
    for part in parts:
        found, words = claim_outcome(claim, part), claim_text(claim, part)
        if found is not None and words is not None:
            orders[part.part.tasks[0]], texts[part.part.tasks[0]] = found.order, words
    return ReasonOutcome(name, order, prediction, orders, texts)


def reasons_table(found: Sequence[ReasonOutcome], tasks: Sequence[str]) -> Table:
    """Prediction first, then the outcome on each task."""
    columns = (
        Column("reason", "usual reason"), Column("order", "what follows from it"), Column("predicted", "predicted"),
        *(Column(task, task) for task in tasks),
    )  # fmt: skip
    rows = [
        (reason.name, reason.order, reason.prediction, *(reason.texts.get(task, "") for task in tasks))
        for reason in found
    ]
    return Table("reasons", "Reasons", columns, rows)


def survival(found: Sequence[ReasonOutcome]) -> list[str]:
    """Which usual reasons survive, in sentences."""
    by_name: dict[str, list[ReasonOutcome]] = {}
    for reason in found:
        by_name.setdefault(reason.name, []).append(reason)
    lines = []
    for name, own in by_name.items():
        known = [reason.survives for reason in own if reason.survives is not None]
        word = "not run yet" if not known else "survives" if all(known) else "survives in part" if any(
            Order.HOLDS in reason.orders.values() for reason in own
        ) else "does not survive"  # fmt: skip
        details = "; ".join(f"{reason.order}: {reason.found}" for reason in own) if known else ""
        lines.append(f"**{name}** {word}" + (f". {details}." if details else "."))
    return lines
