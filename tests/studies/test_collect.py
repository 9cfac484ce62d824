"""A comparison shows what its runs' files say, as far as there are any."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ordinate.report import FORMATS, render
from ordinate.results.comparison import ComparedRun, Comparison
from ordinate.results.run_result import RunResult
from ordinate.statistics.alarms import Damaged, UnequalSeeds, Unfinished
from ordinate.store import Run, Store
from ordinate.store.documents import content_sum
from ordinate.studies import local
from ordinate.studies.collect import collect
from ordinate.studies.compare import compare
from ordinate.studies.plan import PILOT, PILOT_SHARE
from ordinate.studies.study_state import StudyState

from . import made
from .conftest import Whole

ROPE, LEARNED = made.ENCODINGS.split(",")


def asked() -> Any:
    return made.study(made.ENCODINGS, **made.SWEPT)


def rows(comparison: Comparison, **wanted: Any) -> list[ComparedRun]:
    return [run for run in comparison.runs if all(getattr(run, key) == value for key, value in wanted.items())]


def results(whole: Whole, encoding: str) -> list[RunResult]:
    """Of the reported runs, from their files."""
    found = rows(whole.comparison, encoding=encoding, pilot=False)
    return [whole.store.run(run.run).result for run in found]


def test_runs_are_listed_with_pilots_marked(whole: Whole) -> None:
    found = whole.comparison.runs
    assert len(found) == len({run.run for run in found}) == 10
    # All short pilots stayed at the floor: they chose nothing, whole runs did.
    rest = [run.config for run in whole.store.runs() if run.id not in {run.run for run in found}]
    short = made.SETTINGS["steps"] // PILOT_SHARE
    assert {(config["seed"], config["steps"]) for config in rest} == {(PILOT, short)} and len(rest) == 6
    assert {whole.store.run(run.run).config["steps"] for run in found} == {made.SETTINGS["steps"]}
    assert all(run.pilot == (run.seed == PILOT) for run in found)
    for encoding in (ROPE, LEARNED):
        assert len(rows(whole.comparison, encoding=encoding, pilot=True)) == 3
        reported = rows(whole.comparison, encoding=encoding, pilot=False)
        sweep = next(s for s in whole.comparison.sweeps if s.encoding == encoding)
        dealt = [sweep.tied[seed % len(sweep.tied)] for seed in (0, 1)] if sweep.tied else [sweep.chosen] * 2
        assert [(run.seed, run.rate) for run in reported] == list(zip((1, 2), dealt, strict=True))
    for run in found:
        result = whole.store.run(run.run).result
        assert (run.state, run.seconds) == (result.status, result.seconds)


def test_curves_are_those_of_the_journals(whole: Whole) -> None:
    curves = whole.comparison.curves
    assert [(c.encoding, c.seed) for c in curves] == [(e, seed) for e in (ROPE, LEARNED) for seed in (1, 2)]
    for curve in curves:
        run = whole.store.run(rows(whole.comparison, encoding=curve.encoding, seed=curve.seed)[0].run)
        points = [r for r in run.journal.read() if (r["split"], r["metric"]) == ("valid", "accuracy")]
        assert list(curve.values) == [r["value"] for r in points]
        assert list(curve.steps) == [r["step"] for r in points] and curve.steps[-1] == run.result.steps


def test_profiles_agree_with_the_results(whole: Whole) -> None:
    profiles = {profile.encoding: profile for profile in whole.comparison.profiles}
    assert list(profiles) == [ROPE, LEARNED]
    for encoding, profile in profiles.items():
        found = results(whole, encoding)
        for result in found:
            assert profile.parameters == result.parameters
            assert profile.own_parameters == result.encoding_parameters
            assert profile.memory == result.memory
        assert profile.embedding_norm == found[0].norms.embedding_norm
        assert profile.encoding_norm == found[0].norms.encoding_norm
        seconds = sum(result.seconds / result.steps for result in found) / len(found)
        assert profile.step_ms == pytest.approx(1000 * seconds)
        assert set(profile.rates) <= {point.rate for sweep in whole.comparison.sweeps for point in sweep.points}
        assert profile.attention is not None and profile.attention.exists()
    rope, learned = profiles[ROPE], profiles[LEARNED]
    assert (rope.max_positions, rope.own_parameters, rope.encoding_norm) == (None, 0, 0.0)
    assert (learned.max_positions, learned.extrapolation, learned.own_parameters) == (8, "refuses", 128)


def test_cells_agree_with_the_results(whole: Whole) -> None:
    (task,) = whole.comparison.analysis.tasks
    for r in task.ranges:
        for cell in r.cells:
            evaluated = [row for result in results(whole, cell.encoding) for row in result.evaluation]
            scores = [row.score for row in evaluated if row.key == (r.split, r.length)]
            assert list(cell.scores) == scores and cell.seeds == (1, 2)
    assert {cell.scores for r in task.ranges for cell in r.cells if (r.split, cell.encoding) == ("ood", LEARNED)} == {
        (None, None)
    }


def test_sweeps_agree_with_the_pilot_runs(whole: Whole) -> None:
    for sweep in whole.comparison.sweeps:
        pilots = rows(whole.comparison, pilot=True, encoding=sweep.encoding)
        found = {run.rate: whole.store.run(run.run).result for run in pilots}
        assert [p.rate for p in sweep.points] == sorted(found)
        for point in sweep.points:
            valid, *_, outside = found[point.rate].evaluation
            assert (point.score, point.loss) == (valid.score, valid.loss)
            assert list(point.outside.values()) == [outside.score]


def test_settings_are_those_that_all_runs_share(whole: Whole) -> None:
    shared = whole.comparison.settings[made.TASK]
    for run in whole.store.runs():
        config = run.config
        less = ("steps", "warmup") if config["seed"] == PILOT else ()  # of pilots
        own = {key: list(value) if isinstance(value, tuple) else value for key, value in shared.items()}
        assert own.pop("model") == {key: value for key, value in config.pop("model").items() if key != "encoding"}
        assert own.pop("evaluation_set") == {f"{r.split} {r.length}": r.hash for r in run.result.evaluation}
        assert {key: value for key, value in own.items() if key not in less} == {
            key: value for key, value in config.items() if key not in ("seed", "lr", *less)
        }


def test_the_rest(whole: Whole) -> None:
    found = whole.comparison
    assert found.id == asked().id and found.metrics == {made.TASK: "accuracy"} and found.trained == {made.TASK: (4, 8)}
    assert found.failures == {} and found.machine is not None and found.machine.torch


@pytest.fixture
def copied(whole: Whole, tmp_path: Path) -> Store:
    """A store to break."""
    shutil.copytree(whole.store.folder, tmp_path / "copy")
    return Store(tmp_path / "copy")


def gathered(store: Store) -> Comparison:
    return collect(StudyState(asked(), store), "")


def a_run(store: Store, whole: Whole, **wanted: Any) -> Run:
    return store.run(rows(whole.comparison, **wanted)[0].run)


def test_a_store_tells_what_the_call_told(whole: Whole, copied: Store) -> None:
    maps = tuple(replace(p, attention=None) for p in whole.comparison.profiles)
    found = gathered(copied)
    assert replace(found, profiles=maps, command="") == replace(whole.comparison, profiles=maps, command="")


def test_seeds_that_are_missing(whole: Whole, copied: Store) -> None:
    lost = a_run(copied, whole, encoding=ROPE, seed=2)
    shutil.rmtree(lost.folder)
    found = gathered(copied)
    assert [run.state for run in found.runs if run.run == lost.id] == ["not started"]
    assert [(c.encoding, c.seed) for c in found.curves] == [(ROPE, 1), (LEARNED, 1), (LEARNED, 2)]
    cells = {cell.encoding: cell.seeds for cell in found.analysis.tasks[0].ranges[0].cells}
    assert cells == {ROPE: (1,), LEARNED: (1, 2)}
    alarms = {alarm.kind: alarm for alarm in found.analysis.tasks[0].alarms}
    assert alarms["unequal"] == UnequalSeeds(2, {ROPE: 1}) and alarms["unfinished"] == Unfinished(3, 4)


def test_a_run_that_is_going_on(whole: Whole, copied: Store) -> None:
    run = a_run(copied, whole, encoding=ROPE, seed=2)
    (run.folder / "result.json").unlink()
    assert {row.state for row in gathered(copied).runs if row.run == run.id} == {"interrupted"}
    with run.claimed() as mine:
        assert mine
        assert {row.state for row in gathered(copied).runs if row.run == run.id} == {"running"}


def test_learning_rates_that_are_missing(whole: Whole, copied: Store) -> None:
    """A rate that nobody has tried yet did not diverge: it is no point of the sweep."""
    first = min(run.rate for run in whole.comparison.runs)
    shutil.rmtree(a_run(copied, whole, encoding=ROPE, seed=PILOT, rate=first).folder)
    sweeps = {sweep.encoding: sweep for sweep in gathered(copied).sweeps}
    assert first not in [p.rate for p in sweeps[ROPE].points]
    assert all(p.score is not None for sweep in sweeps.values() for p in sweep.points)


def test_failures_of_another_call(whole: Whole, copied: Store) -> None:
    """A report does not wait for runs that failed: it stands where the study stopped, and names them."""
    seed = a_run(copied, whole, encoding=ROPE, seed=2)
    pilot = a_run(copied, whole, encoding=LEARNED, seed=PILOT, rate=0.01)
    for run in (seed, pilot):
        (run.folder / "result.json").unlink()
        (run.folder / "error.txt").write_text("Traceback ...\nOSError: the disk is full")
    found = gathered(copied)
    assert found.failures == {seed.id: "OSError: the disk is full", pilot.id: "OSError: the disk is full"}
    assert {row.run for row in found.runs if row.state == "failed"} == {seed.id, pilot.id}
    texts = [alarm.sentence() for alarm in found.analysis.tasks[0].alarms if alarm.kind == "failed"]
    assert f"{ROPE}: 1 of 2 runs failed: OSError: the disk is full" in texts


def test_nothing_at_all(tmp_path: Path) -> None:
    found = gathered(Store(tmp_path))
    assert found.analysis.tasks == () and found.curves == found.profiles == found.sweeps == () and found.machine is None
    assert {run.state for run in found.runs} == {"not started"} and found.failures == {}
    assert found.settings.keys() == {made.TASK}


def left_out(found: Comparison, run: Run) -> str:
    """What the one alarm says about a run that could not be read; everything else is there."""
    (alarm,) = [alarm for alarm in found.analysis.tasks[0].alarms if isinstance(alarm, Damaged)]
    assert alarm.run == run.id and alarm.sentence().startswith(f"{ROPE}: run {run.id} (seed 2) cannot be read")
    assert [row.state for row in found.runs if row.run == run.id] == ["damaged"]
    assert {cell.encoding: cell.seeds for cell in found.analysis.tasks[0].ranges[0].cells} == {
        ROPE: (1,),
        LEARNED: (1, 2),
    }
    return alarm.error


def rewrite(run: Run, content: dict[str, Any]) -> None:
    """Another result, as if it had come out so."""
    del content["sum"]
    (run.folder / "result.json").write_text(json.dumps(content | {"sum": content_sum(content)}))


def test_results_on_other_problems_are_left_out(whole: Whole, copied: Store) -> None:
    """The task's code has changed since: its name is the same, its problems are not."""
    run = a_run(copied, whole, encoding=ROPE, seed=2)
    content = json.loads((run.folder / "result.json").read_text())
    content["evaluation"][0]["hash"] = "0" * 16
    rewrite(run, content)
    assert f"run {run.id} was scored on other problems than" in left_out(gathered(copied), run)


@pytest.mark.parametrize(
    "key",
    [
        "status", "steps", "metric", "direction", "bar", "evaluation", "records", "norms", "seconds", "memory",
        "learned_at", "parameters", "encoding_parameters",
    ],
)  # fmt: skip
def test_a_result_that_lacks_something_is_named_and_left_out(key: str, whole: Whole, copied: Store) -> None:
    run = a_run(copied, whole, encoding=ROPE, seed=2)
    content = json.loads((run.folder / "result.json").read_text())
    del content[key]
    (run.folder / "result.json").write_text(json.dumps(content))
    assert f"{run.id}/result.json is damaged (result has no {key}): move it away" in left_out(gathered(copied), run)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (["bar"], None), (["learned_at"], "0.5"), (["parameters"], {}), (["steps"], True),
        (["norms", "encoding_norm"], None), (["norms", "embedding_norm"], "0.5"),
        (["evaluation", 0, "score"], "0.5"), (["evaluation", 1, "floor"], None),
        (["evaluation", 0, "sequences"], "0.5"), (["evaluation", 0, "seen"], "0.5"), (["records", 0, "value"], "x"),
        (["evaluation"], []), (["evaluation", 0, "split"], "other"), (["evaluation", 2, "length"], 10**400),
        (["evaluation", 0, "score"], 1e999), (["status"], "lost"), (["run"], "0" * 12),
        (["evaluation", 1, "sequences"], 0), (["evaluation", 1, "sequences"], 10**12),
    ],
)  # fmt: skip
def test_a_result_with_something_of_another_kind_is_named_and_left_out(
    path: list[str | int], wrong: object, whole: Whole, copied: Store
) -> None:
    run = a_run(copied, whole, encoding=ROPE, seed=2)
    content = json.loads((run.folder / "result.json").read_text())
    at = content
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = wrong
    (run.folder / "result.json").write_text(json.dumps(content))
    assert "move it away" in left_out(gathered(copied), run)


@pytest.mark.parametrize("damage", ["{", '{"evaluation": 3}', "[]", "rows"])
def test_a_result_that_is_none_is_named_and_left_out(damage: str, whole: Whole, copied: Store) -> None:
    run = a_run(copied, whole, encoding=ROPE, seed=2)
    content = json.loads((run.folder / "result.json").read_text())
    for row in content["evaluation"]:
        del row["floor"]
    (run.folder / "result.json").write_text(json.dumps(content) if damage == "rows" else damage)
    assert "move it away" in left_out(gathered(copied), run)


def test_a_study_with_all_kinds_of_trouble_still_has_its_report(whole: Whole, copied: Store) -> None:
    """A pilot that failed, a run that diverged to maps without numbers, and one that is damaged."""
    pilot = a_run(copied, whole, encoding=LEARNED, seed=PILOT, rate=0.01)
    (pilot.folder / "result.json").unlink()
    (pilot.folder / "error.txt").write_bytes(b"\xff\x00 Traceback ...\nOSError: the disk is full")
    diverged = a_run(copied, whole, encoding=LEARNED, seed=1)
    content = json.loads((diverged.folder / "result.json").read_text())
    content["status"] = "diverged"
    for row in content["evaluation"]:
        row |= {"score": None, "loss": None, "accuracy": None}
    content["records"] = [{**record, "value": None} for record in content["records"]]
    rewrite(diverged, content)
    maps = load_file(diverged.folder / "attention.safetensors")
    lost = {name: np.full_like(value, np.nan) if name.startswith("layer") else value for name, value in maps.items()}
    save_file(lost, diverged.folder / "attention.safetensors")
    damaged = a_run(copied, whole, encoding=ROPE, seed=2)
    (damaged.folder / "result.json").write_text("{")
    (diverged.folder / "env.json").write_text("{")
    found = gathered(copied)
    assert {"failed", "diverged", "damaged"} <= {alarm.kind for alarm in found.analysis.tasks[0].alarms}
    for kind in FORMATS:
        text = render(found, kind)
        assert damaged.id in text or kind == "csv"
        assert "diverged" in text and ("the disk is full" in text or kind == "csv")
    assert found.machine is not None and found.machine.torch
    assert str(found).startswith(f"{made.TASK}: ")


def test_an_encoding_without_any_run_left_is_still_in_the_report(whole: Whole, copied: Store) -> None:
    """All its seeds are damaged: it has no score, but a place and a color in every table and picture."""
    lost = [copied.run(row.run) for row in rows(whole.comparison, encoding=LEARNED, pilot=False)]
    for run in lost:
        (run.folder / "result.json").write_text("{")
    found = gathered(copied)
    assert LEARNED in found.analysis.encodings and set(found.failures) == {run.id for run in lost}
    for kind in FORMATS:
        assert LEARNED in render(found, kind) or kind == "csv"


def test_a_comparison_goes_on_beside_a_damaged_run(whole: Whole, copied: Store) -> None:
    """It names that run, and does the one that is missing."""
    damaged = a_run(copied, whole, encoding=ROPE, seed=2)
    (damaged.folder / "result.json").write_text("[" * 100_000)
    missing = a_run(copied, whole, encoding=LEARNED, seed=2)
    shutil.rmtree(missing.folder)
    found = compare(made.TASK, made.ENCODINGS, store=copied.folder, workers=0, **made.SWEPT, **made.SETTINGS)
    assert missing.done and list(found.failures) == [damaged.id]
    assert "result.json is damaged (not JSON): move it away" in left_out(found, damaged)


def test_what_is_done_is_not_done_again(whole: Whole, copied: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is touched, and no worker started."""
    monkeypatch.setattr(local, "LocalWorker", None)
    files = {path: path.stat().st_mtime_ns for path in copied.folder.rglob("*") if "studies" not in path.parts}
    for workers in (0, 2):
        found = compare(made.TASK, made.ENCODINGS, store=copied.folder, workers=workers, **made.SWEPT, **made.SETTINGS)
        assert found.analysis == whole.comparison.analysis and found.runs == whole.comparison.runs
    assert {p: p.stat().st_mtime_ns for p in copied.folder.rglob("*") if "studies" not in p.parts} == files
