"""Tied learning rates are dealt out over the reported seeds; budgets end by what the fastest encoding took."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from ordinate.results.run_result import RunResult
from ordinate.statistics.alarms import RaisedSeeds, RateMatters, UndealtRates
from ordinate.statistics.sentences import sentences
from ordinate.store import Store
from ordinate.studies import study_store
from ordinate.studies.plan import HOPELESS, PILOT, RATES
from ordinate.studies.study_analysis import analyze_study
from ordinate.studies.study_state import StudyState
from ordinate.training import RunConfig

from . import made


def tied(config: RunConfig) -> RunResult:
    """rope ties at all rates, alibi learns at one; beyond the trained length a large rate hurts rope."""
    if config.model.encoding == "rope":
        return made.result(outside=0.99 - 20 * config.lr)
    close = abs(math.log(config.lr / 0.003)) < 0.1
    return made.result(1.0 if close else 0.5, inside=1.0, outside=0.6 + config.seed / 1000)


def rates_of(state: StudyState, encoding: str, seeds: int) -> list[float]:
    return [config.lr for config in state.reported(seeds) if config.model.encoding == encoding]


def test_tied_rates_are_dealt_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, tied)
    state = made.state_of(made.study(seeds=7))
    assert rates_of(state, "rope", 7) == [*RATES, *RATES, RATES[0]]
    assert rates_of(state, "alibi", 7) == [0.003] * 7
    again = made.state_of(made.study(seeds=7))
    assert [config.id for config in again.reported(7)] == [config.id for config in state.reported(7)]
    assert all(config.seed != PILOT for config in state.reported(7))


def test_a_fixed_rate_is_that_of_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, tied)
    assert rates_of(made.state_of(made.study(seeds=4, fixed=True)), "rope", 4) == [0.01] * 4


def test_more_seeds_keep_the_rates_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, tied)
    state = made.state_of(made.study(seeds=7))
    assert rates_of(state, "rope", 7)[:4] == rates_of(state, "rope", 4)


def test_an_alarm_tells_where_the_rate_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, tied)
    (task,) = analyze_study(made.state_of(made.study(seeds=6)), 6).tasks
    (alarm,) = [alarm for alarm in task.alarms if isinstance(alarm, RateMatters)] or [None]
    claims = [abs(pair.difference.mean) for pair in task.pairs if pair.claim and pair.basis == "scores"]
    assert claims and (alarm is None) == (max(RATES) * 20 - min(RATES) * 20 <= min(claims))
    made.pretend(
        monkeypatch,
        lambda c: made.result(outside=(0.99 if c.model.encoding == "rope" else 0.8) - 25 * c.lr + c.seed / 1e4),
    )
    (task,) = analyze_study(made.state_of(made.study(seeds=12)), 12).tasks
    found = [alarm for alarm in task.alarms if isinstance(alarm, RateMatters)]
    if any(pair.claim and pair.basis == "scores" for pair in task.pairs):
        assert {alarm.encoding for alarm in found} == {"rope", "alibi"}
        assert list(found[0].means) == list(RATES) and "0.001" in found[0].sentence()


def test_the_rate_may_decide_over_all_lengths_and_not_at_the_headline(monkeypatch: pytest.MonkeyPatch) -> None:
    def longer(config: RunConfig) -> RunResult:
        found = tied(config)
        *_, headline = found.evaluation
        rope = config.model.encoding == "rope"
        rows = (
            replace(headline, length=16, score=0.9),
            replace(headline, length=24, score=headline.score if rope else 0.9),
        )
        return replace(found, evaluation=(*found.evaluation[:-1], *rows))

    made.pretend(monkeypatch, longer)
    (task,) = analyze_study(made.state_of(made.study(seeds=6)), 6).tasks
    (alarm,) = [alarm for alarm in task.alarms if isinstance(alarm, RateMatters)]
    assert (alarm.encoding, alarm.where) == ("rope", "over all lengths") and list(alarm.means) == list(RATES)


def test_fewer_seeds_than_tied_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, tied)
    (task,) = analyze_study(made.state_of(made.study(seeds=2)), 2).tasks
    (alarm,) = [alarm for alarm in task.alarms if isinstance(alarm, UndealtRates)]
    assert alarm == UndealtRates("rope", (0.01,)) and "--seeds" in alarm.sentence()


def hopeless(config: RunConfig) -> RunResult:
    """rope learns at step 10 on the pilot seed, alibi never."""
    learns = config.model.encoding == "rope"
    score = 1.0 if learns else 0.6
    return made.result(score, inside=score, outside=score, learned_at=10 if learns else None)


def test_a_hopeless_encoding_stops_at_a_multiple_of_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, hopeless)
    state = made.state_of(made.study(seeds=6, settings={"steps": 4000}))
    budgets = {config.model.encoding: config.steps for config in state.reported(6)}
    assert budgets == {"rope": 4000, "alibi": max(HOPELESS * 10, 4000 // 4)}
    short = made.state_of(made.study(seeds=6, settings={"steps": 40}))
    assert {config.steps for config in short.reported(6)} == {40}  # eight times ten is more than the budget
    analysis = analyze_study(state, 6)
    steps = analysis.tasks[0].steps["alibi"]
    assert steps.budget == budgets["alibi"] and steps.fastest == ("rope", 10)
    text = " ".join(sentences(analysis, analysis.tasks[0]))
    assert (
        f"alibi did not learn it in {budgets['alibi']:,} steps ({budgets['alibi'] // 10} times the 10 of rope)" in text
    )


@pytest.mark.parametrize("other", [{"fixed": True}, {"settings": {"steps": 4000, "budget": "fixed"}}])
def test_no_budget_ends_early_without_pilots_or_when_it_is_fixed(
    monkeypatch: pytest.MonkeyPatch, other: dict[str, object]
) -> None:
    made.pretend(monkeypatch, hopeless)
    study = made.study(seeds=6, **other)
    assert {config.steps for config in made.state_of(study).reported(6)} == {study.bases[0][2].steps}


def test_nobody_is_stopped_if_nobody_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, lambda config: made.result(0.6, inside=0.6, outside=0.6, learned_at=None))
    state = made.state_of(made.study(seeds=6, settings={"steps": 4000}))
    assert {config.steps for config in state.reported(6)} == {4000}


def test_seeds_that_were_raised_after_a_report_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    six, eight = made.study(seeds=6), made.study(seeds=8)
    for study in (six, eight):
        study_store.save(store, study, "ordinate compare k_back")
    assert study_store.finished_with_fewer_seeds(store, eight) == ()  # planned, but no report was seen
    (study_store.folder_of(store, six) / "report.html").write_text("seen")
    assert study_store.finished_with_fewer_seeds(store, eight) == (6,)
    assert study_store.finished_with_fewer_seeds(store, six) == ()
    made.pretend(monkeypatch, tied)
    (task,) = analyze_study(StudyState(eight, store), 8).tasks
    (alarm,) = [alarm for alarm in task.alarms if isinstance(alarm, RaisedSeeds)]
    assert alarm.earlier == (6,) and "--seeds auto" in alarm.sentence()
