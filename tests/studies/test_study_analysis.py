"""Alarms that scores alone cannot show, and what a look takes as settled."""

import shlex
from dataclasses import replace
from typing import Any

import pytest

from ordinate.results.run_result import Record, RunResult
from ordinate.statistics.alarms import LARGE, Budget
from ordinate.statistics.types import Analysis
from ordinate.studies.command import with_steps, write_command
from ordinate.studies.plan import PILOT, PILOT_SHARE
from ordinate.studies.study_analysis import analyze_study
from ordinate.studies.sweep import HIGHEST, LOWEST
from ordinate.training import RunConfig

from . import made


def found(
    monkeypatch: pytest.MonkeyPatch, make: made.Make, failed: dict[str, str] | None = None, **options: Any
) -> Analysis:
    """What a study of two encodings and three seeds comes to."""
    made.pretend(monkeypatch, make)
    state = made.state_of(made.study(**(dict(seeds=3) | options)))
    state.failed |= failed or {}
    return analyze_study(state, 3)


def alarms(analyzed: Analysis, kind: str) -> list[str]:
    return [alarm.sentence() for task in analyzed.tasks for alarm in task.alarms if alarm.kind == kind]


def rope(config: RunConfig) -> bool:
    return config.model.encoding == "rope"


def rising(config: RunConfig) -> dict[str, Any]:
    """The larger the rate the better, for one of the two."""
    return made.result(config.lr**0.5 if rope(config) else 1.0)


def test_the_best_rate_at_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    assert alarms(found(monkeypatch, rising), "grid edge") == [
        f"rope: the best learning rate ({HIGHEST:g}) is the largest that was tried"
    ]
    falling = found(monkeypatch, lambda c: made.result(1 - c.lr**0.25 if rope(c) else 1.0))
    assert alarms(falling, "grid edge") == [f"rope: the best learning rate ({LOWEST:g}) is the smallest that was tried"]
    assert alarms(found(monkeypatch, lambda c: made.result(1.0)), "grid edge") == []
    assert alarms(found(monkeypatch, rising, fixed=True), "grid edge") == []  # nothing is swept


def test_no_rate_leads_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = found(
        monkeypatch,
        lambda c: made.result(status="diverged" if rope(c) and c.seed == PILOT else "finished"),
    )
    assert alarms(lost, "no rate") == ["rope: no learning rate led to a score on the pilot seed"]


def test_values_larger_than_the_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    for ratio, expected in ((LARGE + 1, 1), (LARGE, 0), (0.0, 0)):
        texts = alarms(
            found(monkeypatch, lambda c, r=ratio: made.result(norms=(0.5, r * 0.5) if rope(c) else (0.5, 0.1))), "sizes"
        )
        assert len(texts) == expected
    texts = alarms(found(monkeypatch, lambda c: made.result(norms=(0.1, 5.0) if rope(c) else (0.1, 0.0))), "sizes")
    assert len(texts) == 1 and texts[0].startswith("what rope adds is 50 times as large as the token embeddings")


def test_failed_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = made.study(seeds=3)
    base = next(base for _, encoding, base in asked.bases if encoding == "rope")
    pilot = base.again(PILOT, 0.001, base.steps // PILOT_SHARE)
    failed = {pilot.id: "died young", base.again(2, 0.01).id: "died old"}
    told = found(monkeypatch, lambda c: None if c.id in failed else made.result(), failed)
    assert alarms(told, "failed") == [
        "rope: 1 of 3 learning rates failed: died young",
        "rope: 1 of 3 runs failed: died old",
    ]
    assert alarms(told, "unequal") == ["not all encodings have the same 3 seeds: rope has 2"]


def test_training_that_showed_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run is enough."""
    told = found(monkeypatch, lambda c: made.result(seen=0.2 if rope(c) and c.seed == 2 else 0.0))
    assert alarms(told, "overlap") == [
        "training showed problems that scores are taken on: 20% of ID length 8 and 20% of OOD length 12"
    ]
    assert alarms(found(monkeypatch, lambda c: made.result(seen=0.0)), "overlap") == []


def test_runs_scored_on_different_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    told = found(monkeypatch, lambda c: made.result(problems="others" if rope(c) else "these"))
    assert alarms(told, "sets") == ["not all runs were scored on the same problems: ID length 8 and OOD length 12"]
    assert alarms(found(monkeypatch, lambda c: made.result()), "sets") == []


def test_alarms_belong_to_their_task(monkeypatch: pytest.MonkeyPatch) -> None:
    told = found(
        monkeypatch,
        lambda c: made.result(norms=(0.1, 5.0) if c.task == made.TASK else (0.1, 0.0)),
        tasks=f"{made.TASK},first_last",
    )
    kinds = {task.task: [alarm.kind for alarm in task.alarms if alarm.kind == "sizes"] for task in told.tasks}
    assert kinds == {made.TASK: ["sizes", "sizes"], "first_last": []}


def test_scores_reach_the_analysis_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: RunConfig) -> dict[str, Any]:
        score = 0.5 + config.seed / 100 + rope(config) / 10
        return made.result(inside=0.96 + config.seed / 100, outside=score)

    task = found(monkeypatch, make, fixed=True).tasks[0]
    assert (task.task, task.family, task.direction, task.bar) == (made.TASK, "distance", "higher", 0.95)
    assert [(r.split, r.length, r.chance, r.floor, r.sequences) for r in task.ranges] == [
        ("id", 8, 0.25, 0.25, 1000), ("ood", 12, 0.25, 0.25, 1000)
    ]  # fmt: skip
    scores = {cell.encoding: cell.scores for cell in task.ranges[1].cells}
    assert scores == {
        "rope": tuple(0.5 + seed / 100 + 0.1 for seed in (1, 2, 3)),
        "alibi": tuple(0.5 + seed / 100 for seed in (1, 2, 3)),
    }


def test_a_diverged_run_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    told = found(monkeypatch, lambda c: made.result(status="diverged" if rope(c) and c.seed == 3 else "finished"))
    assert alarms(told, "diverged") == ["training diverged: rope (seed 3); lower the learning rate"]


def test_each_of_several_looks_has_its_share_of_the_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, lambda c: made.result(), seeds="auto", fixed=True).alpha == pytest.approx(0.05 / 3)
    assert found(monkeypatch, lambda c: made.result(), fixed=True).alpha == 0.05


def test_what_was_relaxed_is_in_the_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = made.study(quick=True)
    assert found(monkeypatch, lambda c: made.result(), seeds=None, quick=True).preliminary == asked.relaxed != ()


def test_what_was_given_up_limits_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made.pretend(monkeypatch, lambda c: made.result())
    asked = replace(made.study(seeds=3), gave_up=("width 32 in place of 64", "50% of the budget"))
    told = "to be done in time, given up were: width 32 in place of 64, 50% of the budget"
    assert told in analyze_study(made.state_of(asked), 3).limits
    assert not any("given up" in limit for limit in found(monkeypatch, lambda c: made.result()).limits)


def test_nothing_done_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, lambda c: None).tasks == ()


def test_alarms_are_about_the_reported_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot run with large values at another rate is nobody's result."""
    told = found(monkeypatch, lambda c: made.result(norms=(0.1, 5.0) if c.seed == PILOT else (0.1, 0.1)))
    assert alarms(told, "sizes") == []


def test_steps_to_learn_are_those_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: RunConfig) -> dict[str, Any]:
        # the second seed is at the bar at its end only, after 20 steps
        return made.result(learned_at=None if config.seed == 2 else config.seed + 10 * rope(config))

    (task,) = found(monkeypatch, make, fixed=True).tasks
    whole = made.SETTINGS["steps"]
    assert {name: (own.seeds, own.budget) for name, own in task.steps.items()} == {
        "rope": ((11, 20, 13), whole), "alibi": ((1, 20, 3), whole),
    }  # fmt: skip


def unfinished(config: RunConfig) -> RunResult:
    """One of the two learns the task in 2 steps; the other ends below the bar, still rising."""
    if rope(config):
        return made.result(learned_at=2)
    curve = tuple(Record("0" * 12, step, "valid", 8, "accuracy", step / 25) for step in range(1, config.steps + 1))
    return replace(made.result(0.8, inside=0.8, learned_at=None), records=curve, steps=config.steps)


@pytest.mark.parametrize("budget", ["learned", "fixed"])
def test_the_command_of_the_budget_alarm_gives_more_steps(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to an encoding whose budget is a multiple of what the fastest one took."""
    made.pretend(monkeypatch, unfinished)
    settings = {**made.SETTINGS, "budget": budget}
    study = made.study(seeds=3, settings={"budget": budget})
    command = write_command(study, settings)
    (task,) = analyze_study(made.state_of(study), 3, command).tasks
    before = task.steps["alibi"]
    assert before.rising and (before.fastest is not None) is (budget == "learned")
    (alarm,) = [alarm for alarm in task.alarms if isinstance(alarm, Budget)]
    assert alarm.rising == {"alibi": (3, 3, before.budget)} and alarm.command in alarm.sentence()
    words = shlex.split(alarm.command)
    assert words[:3] == ["ordinate", "compare", made.TASK] and sum(word.startswith("steps=") for word in words) == 1
    more = next(int(word.removeprefix("steps=")) for word in words if word.startswith("steps="))
    (task,) = analyze_study(made.state_of(made.study(seeds=3, settings={"budget": budget, "steps": more})), 3).tasks
    assert task.steps["alibi"].budget >= 2 * before.budget


def test_a_plan_that_was_made_to_fit_a_time_is_kept_when_it_gets_more_steps() -> None:
    study = made.study(seeds=3, fixed=True)
    command = write_command(study, {"epochs": 3, "lr": 0.01}, within=60)
    assert shlex.split(with_steps(command, study, made.TASK, 40)) == [
        "ordinate", "compare", made.TASK, "--encodings", "rope,alibi", "lr=0.01", "--seeds", "3", "dim=16", "steps=40",
    ]  # fmt: skip
