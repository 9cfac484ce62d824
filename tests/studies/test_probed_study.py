"""Probing the runs of a study: what is missing is made once, beside the runs, and reports read it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ordinate.cli import app
from ordinate.report import render
from ordinate.report.why import task_sentence, whys
from ordinate.store import Store, open_store
from ordinate.studies.collect import collect
from ordinate.studies.probed_study import plan_probes, probe_missing, runs_that_speak
from ordinate.studies.study_file import load
from ordinate.studies.study_run import job
from ordinate.studies.study_state import StudyState
from ordinate.training import baselines

STUDY = """
title = "Tiny"
question = "Which?"
[[parts]]
name = "one"
tasks = "k_back(k=1,vocabulary=4)"
encodings = ["rope", "alibi"]
seeds = 2
[parts.settings]
dim = 16
heads = 2
layers = 1
steps = 20
batch = 8
lr = 0.01
train_lengths = [4, 8]
ood_lengths = [12]
evaluation_sequences = 40
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished study: its file, and its store."""
    folder = tmp_path_factory.mktemp("probed")
    (folder / "tiny.toml").write_text(STUDY)
    before, baselines.SEQUENCES = baselines.SEQUENCES, 200
    try:
        study = load(folder / "tiny.toml")
        job(study, study.parts[0], folder / "runs", workers=0).carry_out(lambda event: None)
    finally:
        baselines.SEQUENCES = before
    return folder


def test_every_reported_run_and_one_run_of_each_encoding(done: Path) -> None:
    study, store = load(done / "tiny.toml"), open_store(done / "runs")
    plan = plan_probes(study, store)
    assert (plan.done, plan.without_weights) == (0, 0)
    assert sorted(task.what for task in plan.missing) == ["layers"] * 4 + ["probe"] * 2
    assert [problem for _, problem in probe_missing(plan, store, workers=0)] == [""] * 6
    again = plan_probes(study, store)
    assert (again.done, again.missing) == (6, ())
    result = CliRunner().invoke(app, ["study", "probe", str(done / "tiny.toml"), "--store", str(done / "runs")])
    assert result.exit_code == 0 and "6 records of probes, 6 stored already" in result.output + result.stderr
    check_reports(done, store)


def check_reports(done: Path, store: Store) -> None:
    """The verdict of the comparison says why, in every report."""
    part = load(done / "tiny.toml").parts[0]
    comparison = collect(StudyState(part.study, store), "the command")
    (task,) = comparison.analysis.tasks
    assert {why.encoding for why in whys(comparison, task)} == {"rope", "alibi"}
    assert set(runs_that_speak(comparison, store, task.task)) == {"rope", "alibi"}
    sentence = task_sentence(comparison, task)
    assert "rope: layer 1 head" in sentence and "not probed" not in sentence
    assert f'"why": "{sentence}"' in render(comparison, "json")
    page = render(comparison, "html")
    assert "<strong>Why.</strong>" in page and "What the heads do" in page


def test_workers_and_names_that_are_wrong_are_said_in_a_sentence(done: Path) -> None:
    for words, sentence in (
        (["study", "probe", "dept"], "no study 'dept'"),
        (["study", "probe", "s2-language-models"], "is of language models"),
        (["study", "probe", str(done / "tiny.toml"), "--workers", "-1", "--store", str(done / "runs")], "workers"),
    ):
        result = CliRunner().invoke(app, words)
        assert result.exit_code != 0 and sentence in str(result.exception or "") + result.output
