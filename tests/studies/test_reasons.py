"""The page on reasons says what the studies say; the two published mechanisms are as published."""

import math
import runpy
from pathlib import Path

import pytest

from ordinate.probes.mechanisms import largest_weight, log_slope, value_variance
from ordinate.report.reasons.outcomes import ReasonOutcome, reason_outcomes, survival
from ordinate.report.reasons.questions import largest_fall
from ordinate.statistics.replication import Order
from ordinate.store.examples import open_examples
from ordinate.studies import study_file
from ordinate.studies.study_outcome import study_outcome

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_that_of_the_results_that_ship() -> None:
    made = runpy.run_path(str(DOCS / "reasons.py"))
    text = (DOCS / "REASONS.md").read_text(encoding="utf-8")
    assert made["document"]([open_examples()]) == text, "to write it again: python docs/reasons.py"


def test_every_reason_has_a_prediction() -> None:
    reasons = reason_outcomes(study_outcome(study_file.load("reasons"), [open_examples()]))
    assert len(reasons) >= 12 and all(reason.name and reason.order and reason.prediction for reason in reasons)
    assert not any("predicted" in reason.order for reason in reasons)


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ({}, "not run yet"),
        ({"a": Order.HOLDS}, "survives. x: holds on a"),
        ({"a": Order.HOLDS, "b": Order.OPEN}, "survives in part. x: holds on a; not shown on b"),
        ({"a": Order.REVERSED, "b": Order.OPEN}, "does not survive. x: reversed on a; not shown on b"),
    ],
)
def test_a_reason_survives_where_it_holds(orders: dict[str, Order], words: str) -> None:
    (line,) = survival([ReasonOutcome("Size", "x", "holds", orders, dict.fromkeys(orders, ""))])
    assert line == f"**Size** {words}."


def test_averaged_values_tell_the_position_in_a_causal_model_alone() -> None:
    assert value_variance(causal=True).slope == pytest.approx(-1, abs=0.1)
    assert value_variance(causal=False).slope == pytest.approx(0, abs=0.05)


def test_softmax_dilutes_as_published() -> None:
    for others, weight in ((10, 0.94), (100, 0.60), (1_000, 0.13), (10_000, 0.015)):
        assert largest_weight(others) == pytest.approx(weight, rel=0.03)
        assert largest_weight(others) == pytest.approx(math.exp(3) / (math.exp(3) + others * math.exp(-2)))


def test_slopes_and_falls() -> None:
    assert log_slope([1.0, 2.0, 8.0], [5.0, 2.5, 0.625]) == pytest.approx(-1)
    assert largest_fall([0.1, 0.9, 0.4, 1.0, 0.8]) == pytest.approx(0.5)
    assert largest_fall([0.1, 0.2]) == 0
