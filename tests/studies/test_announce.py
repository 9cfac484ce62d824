"""What is said before a study begins: what it gave up, what it can claim, and how long it takes at most."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ordinate.cli.compare import announce
from ordinate.store import Store
from ordinate.studies import cost as costs
from ordinate.studies.compare import Job
from ordinate.studies.cost import cost
from ordinate.studies.executor import Plain
from ordinate.studies.plan import PILOT, Study
from ordinate.studies.time_left import range_words
from ordinate.training import RunConfig
from ordinate.training.timing import Estimate

from . import made

EACH = Estimate(0.5, 7.0, 2_000_000)


@pytest.fixture(autouse=True)
def _made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "estimates", timed)


def timed(study: Study) -> dict[tuple[str, str], Estimate]:
    return {(task, encoding): EACH for task, encoding, _ in study.bases}


class Two(Plain):
    """Would have two workers."""

    workers_wanted = 2


def said(
    study: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, make: made.Make = lambda c: None
) -> tuple[list[str], float]:
    """All lines, and how long one run takes."""
    made.pretend(monkeypatch, make)
    store = Store(Path("nowhere"))
    each = announce(Job(study, store, Two(store), "ordinate compare"))
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err.splitlines(), each


def test_the_time_is_at_most_that_of_whole_budgets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = made.study()
    whole = cost(study, timed(study), 2)
    lines, each = said(study, capsys, monkeypatch)
    assert lines == [
        f"{made.TASK}: rope, alibi",
        f"at least 18 runs, 0 done; {range_words((whole.least, whole.seconds))} with 2 workers, less where a "
        "task is learned early; 36 MB in nowhere",
    ]
    assert each == pytest.approx(whole.seconds * 2 / 18)
    (_, fixed), _ = said(made.study(fixed=True), capsys, monkeypatch)
    assert fixed.startswith("12 runs, 0 done; ")  # no grid that could grow
    (_, auto), _ = said(made.study(seeds="auto", fixed=True), capsys, monkeypatch)
    assert auto.startswith("up to 40 runs, 0 done; ")


def test_what_is_done_takes_no_time(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    study = made.study()
    lines, _ = said(study, capsys, monkeypatch, lambda c: made.result(0.5) if c.seed == PILOT else None)
    whole = cost(study, timed(study), 2)
    left = range_words((whole.least * 12 / 18, whole.seconds * 12 / 18))
    assert lines[1].startswith(f"at least 18 runs, 6 done; {left} with 2 workers")
    assert said(study, capsys, monkeypatch, lambda c: made.result(0.5)) == (
        [f"{made.TASK}: rope, alibi", "18 runs, all done"], 0.0
    )  # fmt: skip


def test_a_grid_that_has_grown_leaves_no_time_below_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rates up to the bound are tried, and one seed of each encoding is left to do."""

    def make(config: RunConfig) -> dict[str, Any] | None:
        return None if config.seed == 6 else made.result(0.5 + 4 * config.lr)

    lines, each = said(made.study(), capsys, monkeypatch, make)
    assert "all done" not in lines[1] and " -" not in lines[1] and each > 0


def test_what_was_given_up_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    study = replace(made.study(), gave_up=("width 32 in place of 64", "50% of the budget"))
    lines, _ = said(study, capsys, monkeypatch)
    assert lines[1] == "to be done in time: width 32 in place of 64, 50% of the budget"


@pytest.mark.parametrize(("seeds", "told"), [(4, True), (5, False), (1, True), ("auto", False)])
def test_too_few_seeds_for_any_claim_are_told(
    seeds: int | str, told: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, _ = said(made.study(made.SIX, seeds=seeds, fixed=True), capsys, monkeypatch)
    found = [line for line in lines if "can claim nothing" in line]
    assert len(found) == told
    if told:
        assert found[0].endswith(" can claim nothing about two encodings: that takes 5 seeds")
        assert found[0].startswith(f"{seeds} seed")
