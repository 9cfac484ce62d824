"""Comparisons of language models: from nothing to statistics, and on again after anything that stops them."""

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ordinate.core.errors import InputError
from ordinate.lm.checkpoint_folder import result_of
from ordinate.lm.evaluation.stored import read_evaluation, write_evaluation
from ordinate.results.lm_record import POINTS, record_of
from ordinate.statistics.analyze import analyze, few_seeds
from ordinate.statistics.results_file import read_results
from ordinate.store.files import Journal
from ordinate.studies.lm.comparison import LMComparison, ModelArm, plan_comparison
from ordinate.studies.lm.forecast import few_seeds_words, forecast
from ordinate.studies.lm.outcome import LONGER, TRAINED, observations, outcome
from ordinate.studies.lm.pool import RunEvent, do_runs
from ordinate.studies.lm.shipped import Shipped, pack
from ordinate.studies.lm.stored_runs import Checkpoints
from ordinate.studies.lm.work import ModelProgress, RunEnd, Workplace, do_run
from ordinate.text.corpus import Corpus

Planned = Callable[..., LMComparison]
Finished = tuple[LMComparison, Workplace, list[RunEvent]]


def _ignore(event: RunEvent) -> None:
    pass


def _done(comparison: LMComparison, place: Workplace) -> int:
    return sum(place.checkpoints.find(run) is not None for run in comparison.distinct_runs)


class Crash(BaseException):
    """Stands for anything that ends a process."""


def test_every_arm_and_seed_is_trained_and_evaluated_once(finished: Finished, tmp_path: Path) -> None:
    comparison, place, seen = finished
    nowhere = replace(place, checkpoints=Checkpoints(tmp_path))
    assert forecast(comparison.distinct_runs, nowhere, 2).line.startswith("6 runs, 0 done; 768 tokens to train on")
    assert [event.kind for event in seen].count("done") == 6
    found = outcome(comparison, [place.checkpoints])
    assert found.finished and found.seeds == [42, 43]
    assert forecast(comparison.distinct_runs, place, 2).line == "6 runs, all done"
    task = found.task(LONGER)
    assert task is not None and [r.key for r in task.ranges] == [("id", 8), ("ood", 16), ("ood", 32)]
    assert all(score is None for score in task.shown.cell("learned").scores)  # it cannot go there
    assert all(score and math.isfinite(score) for score in task.shown.cell("rope").scores)
    assert found.reaches("rope") and all(1 <= reach <= 4 for reach in found.reaches("rope"))
    record = found.records["rope", 42]
    assert record.curve_tokens[-1] == 128 and len(record.curve_tokens) <= POINTS


def test_the_analysis_is_that_of_analyze_on_the_same_numbers(finished: Finished, tmp_path: Path) -> None:
    comparison, place, _ = finished
    found = outcome(comparison, [place.checkpoints])
    file = tmp_path / "results.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["task", "encoding", "seed", "split", "length", "score", "direction"])
        for row in observations(found):
            writer.writerow([row.task, row.encoding, row.seed, row.split, row.length, row.score, "lower"])
    read = read_results(file).observations
    alone, own = analyze(read, preliminary=few_seeds(read)), found.analysis
    assert own is not None and own.records() == alone.records() and own.preliminary == alone.preliminary
    assert [task.pairs for task in own.tasks] == [task.pairs for task in alone.tasks]
    assert [task.task for task in own.tasks] == [TRAINED, LONGER]


def test_a_kill_between_training_and_evaluation_costs_the_evaluation_alone(planned: Planned, place: Workplace) -> None:
    comparison = planned(seeds=1)
    run = comparison.distinct_runs[0]

    def crash(now: ModelProgress) -> None:
        if now.text.startswith("evaluation"):
            raise Crash

    with pytest.raises(Crash):
        do_run(run, place, crash)
    folder = place.checkpoints.folder(run)
    result = result_of(folder)
    assert result is not None and place.checkpoints.find(run) is None and not place.checkpoints.busy(run)
    trained = []
    assert do_run(run, place, trained.append) is RunEnd.DONE
    assert not [now for now in trained if "step" in now.text] and result_of(folder) == result
    assert place.checkpoints.find(run) is not None
    assert do_run(run, place, crash) is RunEnd.DONE  # nothing is left to do


def test_an_evaluation_of_other_weights_does_not_count(planned: Planned, place: Workplace) -> None:
    run = planned(seeds=1).distinct_runs[0]
    do_run(run, place)
    file = next(place.checkpoints.folder(run).glob("eval_*.json"))
    write_evaluation(file, replace(read_evaluation(file), sha256="0" * 64))
    assert place.checkpoints.find(run) is None


def test_two_drivers_share_the_runs_and_do_none_twice(planned: Planned, place: Workplace) -> None:
    """The second one comes while the first is in the middle of a run."""
    comparison, started = planned(seeds=1), list[str]()

    def other(event: RunEvent) -> None:
        if event.kind == "progress" and not started:
            started.append("now")
            assert do_run(event.run, place) is RunEnd.ELSEWHERE
            rest = [run for run in comparison.distinct_runs if run != event.run]
            assert do_runs(rest, place, 0, lambda own: started.append(own.kind)) == {}

    do_runs(comparison.distinct_runs, place, 0, other)
    assert "done" in started and _done(comparison, place) == 2
    for run in comparison.distinct_runs:
        steps = [line["step"] for line in Journal(place.checkpoints.folder(run) / "metrics.jsonl").read()]
        assert steps == sorted(set(steps))


@pytest.mark.slow
def test_workers_are_processes_and_a_failed_run_is_a_sentence(planned: Planned, place: Workplace) -> None:
    comparison, broken = planned(seeds=1), planned("rope", seeds=1, lr=1e9, clip=0.0)
    runs = [*comparison.distinct_runs, *broken.distinct_runs]
    failures = do_runs(runs, place, 2, _ignore)
    assert list(failures) == [broken.distinct_runs[0].id]
    assert "not finite" in failures[broken.distinct_runs[0].id] and _done(comparison, place) == 2


def test_scalings_share_one_run_and_are_compared_on_the_same_tokens(planned: Planned, place: Workplace) -> None:
    comparison = planned(ModelArm("rope"), ModelArm("rope", "linear"), ModelArm("rope", "yarn"), seeds=1)
    assert len(comparison.distinct_runs) == 1 and comparison.protocol == "same targets"
    do_runs(comparison.distinct_runs, place, 0, _ignore)
    found = outcome(comparison, [place.checkpoints])
    assert found.task(TRAINED) is None and found.finished
    assert found.losses("rope", 1) == found.losses("rope, linear", 1)  # scalings act past the trained length
    assert found.losses("rope", 4) != found.losses("rope, linear", 4)


def test_an_encoding_that_changes_shares_its_trunk(planned: Planned, place: Workplace) -> None:
    arms = [ModelArm("rope", to="none", at=0.5), ModelArm("none"), ModelArm("rope")]
    comparison = planned(*arms, seeds=1, steps=16)
    assert comparison.names == ("rope, then none from 0.5", "none", "rope")
    assert comparison.distinct_runs[0].name == "rope to none, seed 42"  # the trunk goes on after it
    do_runs(comparison.distinct_runs, place, 0, _ignore)
    found = outcome(comparison, [place.checkpoints])
    assert found.finished and len(list(place.root.glob("*rope_trunk*"))) == 1
    changed = found.records["rope, then none from 0.5", 42].evaluation
    assert changed.encoding == "none"


def test_bidirectional_models_predict_masked_tokens(planned: Planned, place: Workplace) -> None:
    comparison = planned("rope", "none", seeds=1, causal=False)
    run = comparison.distinct_runs[0]
    assert comparison.text_vocabulary == 300 and run.config.model.vocabulary == 301 and run.config.row_targets == 1
    do_runs(comparison.distinct_runs, place, 0, _ignore)
    found = outcome(comparison, [place.checkpoints])
    evaluation = found.records["rope", 42].evaluation
    assert found.finished and not evaluation.induction and found.reaches("rope") == []
    by_context = evaluation.by_context("disjoint")
    assert set(by_context) == {4, 8, 16, 32} and len({losses.tokens for losses in by_context.values()}) == 1


def test_what_is_packed_gives_the_same_numbers_on_any_text(
    finished: Finished, place: Workplace, tmp_path: Path
) -> None:
    comparison, made, _ = finished
    whole = outcome(comparison, [made.checkpoints])
    archive = tmp_path / "shipped.zip"
    assert pack(((comparison.runs[key], record) for key, record in whole.records.items()), archive) == 6
    elsewhere = replace(comparison, corpus="")
    packed = outcome(elsewhere, [place.checkpoints, Shipped(archive)])
    assert packed.finished and not outcome(elsewhere, [place.checkpoints]).records
    for arm in comparison.names:
        assert packed.losses(arm, 1) == pytest.approx(whole.losses(arm, 1), rel=1e-5)
        assert packed.reaches(arm) == pytest.approx(whole.reaches(arm), rel=1e-3)
    first = archive.read_bytes()
    pack(((comparison.runs[key], record) for key, record in whole.records.items()), archive)
    assert archive.read_bytes() == first
    assert Shipped(tmp_path / "missing.zip").find(comparison.distinct_runs[0]) is None


def test_a_curve_keeps_its_last_point(finished: Finished) -> None:
    comparison, place, _ = finished
    record = place.checkpoints.find(comparison.distinct_runs[0])
    assert record is not None
    long = record_of(record.evaluation, [(at, 1.0) for at in range(1000)], 1.0, 0.0)
    assert long.curve_tokens[-1] == 999 and len(long.curve_tokens) <= POINTS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seeds": 0}, "a comparison has 1 to 100 seeds, got 0"),
        ({"seed": 3}, "seed cannot be set"),
        ({"steps": 1}, "leave no plateau"),
        ({"color": 1}, "unknown key color"),
    ],
)
def test_bad_input_is_one_sentence(planned: Planned, change: dict[str, int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        planned(**change)


def test_arms_are_distinct_and_known(planned: Planned, corpus: Corpus) -> None:
    with pytest.raises(InputError, match="rope is named twice"):
        planned("rope", "rope")
    with pytest.raises(InputError, match="did you mean rope"):
        planned("roppe")
    with pytest.raises(InputError, match="no encoding was given"):
        plan_comparison("nano", [], 1, None, corpus.fingerprint)
    assert few_seeds_words(planned()) == "2 seeds can claim nothing about two encodings: that takes 5 seeds"
    assert few_seeds_words(planned(seeds=5)) == ""
