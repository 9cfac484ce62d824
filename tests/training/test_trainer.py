"""What a run says about itself when it is over."""

import json
import math
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from ordinate import InputError, Transformer
from ordinate.core.config import to_dict
from ordinate.results.run_result import RunResult
from ordinate.store import Run, Store
from ordinate.store.documents import SCHEMA
from ordinate.store.files import read_json
from ordinate.training import Progress, train, trainer
from ordinate.training.data import evaluation_sets
from ordinate.training.evaluate import evaluate
from ordinate.training.optimizer import Schedule

from .runs import outcome, small, words

EASY = dict(task="binary_majority", train_lengths=[3, 5], ood_lengths=[7])  # solved after a few steps


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Checked more often than its few steps could pay for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "check_every", lambda config, task: 3)
        return train(small(steps=25), Store(tmp_path_factory.mktemp("runs")))


def curve(result: RunResult, metric: str, split: str = "valid") -> dict[int, float]:
    return {r.step: r.value for r in result.records if r.split == split and r.metric == metric}


def test_points_on_the_curve_and_one_at_its_end(finished: Run) -> None:
    for metric in ("loss", "accuracy", "exact"):
        assert list(curve(finished.result, metric)) == [3, 6, 9, 12, 15, 18, 21, 24, 25]


def test_metrics_as_they_come(finished: Run) -> None:
    journal = list(finished.journal.read())
    for metric in ("loss", "accuracy", "gradient_norm", "lr", "tokens_per_second"):
        found = [r["value"] for r in journal if r["split"] == "train" and r["metric"] == metric]
        assert len(found) == 25 and all(math.isfinite(value) and value >= 0 for value in found)
    assert finished.step == 25


def test_each_record_stands_once(finished: Run) -> None:
    records = finished.result.records
    keys = Counter((r.step, r.split, r.length, r.metric) for r in records)
    assert set(keys.values()) == {1}
    assert all(r.run == finished.id and "tokens" not in r.metric for r in records)


@pytest.mark.parametrize(("encoding", "adds"), [("rope", False), ("sinusoidal", True), ("learned", True)])
def test_norms_of_embeddings_and_encoding(encoding: str, adds: bool, tmp_path: Path) -> None:
    run = train(small(encoding=encoding, steps=1, dim=64, ood_lengths=[]), Store(tmp_path))
    norms = {r["metric"]: r["value"] for r in run.journal.read() if r["step"] == 0}
    assert norms.keys() == {"embedding_norm", "encoding_norm"}
    assert norms["embedding_norm"] == pytest.approx(1.0, rel=0.2)
    assert norms["encoding_norm"] == pytest.approx(norms["embedding_norm"] if adds else 0.0, rel=0.2)
    assert asdict(run.result.norms) == norms


def test_the_kept_weights_have_the_stored_scores(finished: Run) -> None:
    config = small(steps=25)
    model = Transformer(config.model, seed=99)
    model.load_state_dict(load_file(finished.folder / "model.safetensors"))
    model.eval()
    rows = finished.result.evaluation
    for chosen, row in zip(evaluation_sets(config, config.make_task()), rows, strict=True):
        scores = evaluate(model, config.make_task(), config, chosen)
        assert scores is not None
        everywhere = ("loss", "accuracy", "exact", "loss_error")
        assert {name: getattr(row, name) for name in everywhere} | row.groups == scores
        assert (row.split, row.length, row.hash) == (chosen.split, chosen.length, chosen.hash)
        assert row.score == scores.get("accuracy_beyond", row.accuracy) and row.sequences == 40


def test_gaps_and_floors(finished: Run) -> None:
    rows = {row.split: row for row in finished.result.evaluation}
    inside, outside = rows["id"], rows["ood"]
    assert outside.gap_loss == outside.loss - inside.loss
    assert outside.gap_accuracy == inside.accuracy - outside.accuracy
    assert inside.gap_loss is None and rows["valid"].gap_loss is None
    for row in rows.values():
        known = [getattr(row, name) for name in ("chance", "majority", "position_only", "bag_of_tokens")]
        assert row.floor == max(known) and row.chance == 0.25


def test_a_result_is_data_and_words_are_found_for_it(finished: Run) -> None:
    result = finished.result
    stored = json.loads((finished.folder / "result.json").read_text())
    assert not stored.keys() & {"learning_speed", "checkpoints", "fitted"}
    assert not any(row.keys() & {"verdict", "normalized"} for row in stored["evaluation"])
    assert result.steps == 25 and result.learned_at is None
    assert len(words(result)) == len(result.evaluation) == 3
    scores = [("valid", 0.99), ("id", 0.97), ("ood", 0.98), ("ood", 0.6), ("ood", 0.26), ("ood", None), ("shift", 0.5)]
    rows = [
        replace(result.evaluation[0], split=split, length=8 + n, score=score, floor=0.25, sequences=1000)
        for n, (split, score) in enumerate(scores)
    ]
    made = replace(result, evaluation=tuple(rows), bar=0.95, status="finished")
    assert words(made) == ["solves", "solves", "solves", "partial", "fits", "out of range", "partial"]
    assert words(replace(made, bar=0.98))[1:3] == ["did not fit", "did not fit"]
    assert set(words(replace(made, status="diverged"))) == {"diverged"}
    assert words(replace(made, bar=None, metric="loss")) == [None] * 7


def test_attention_maps_are_kept(finished: Run) -> None:
    maps = load_file(finished.folder / "attention.safetensors")
    weights = maps["layer_0"]
    assert maps.keys() == {"layer_0", "tokens", "targets"} and weights.shape == (2, 2, 8, 8)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 2, 8))
    assert weights.triu(1).abs().sum() == 0


def test_what_was_run_and_where(finished: Run) -> None:
    assert finished.config == to_dict(small(steps=25)) | {
        key: list(value) for key, value in to_dict(small(steps=25)).items() if isinstance(value, tuple)
    }
    env = read_json(finished.folder / "env.json")
    assert env["schema"] == SCHEMA and env["torch"] == torch.__version__ and env["threads"] == 1
    assert not (finished.folder / "checkpoint.pt").exists() and not (finished.folder / "claim").exists()


def test_done_means_done(finished: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(trainer, "TaskTrainer")
    assert train(small(steps=25), Store(finished.folder.parent)).result == finished.result


@pytest.mark.parametrize("clip", [1.0, 0.0])
def test_divergence_is_a_result(clip: float, tmp_path: Path) -> None:
    run = train(small(lr=1e6, clip=clip, warmup=0), Store(tmp_path))
    result = run.result
    assert result.status == "diverged" and result.steps < 20 and result.learned_at is None
    assert set(words(result)) == {"diverged"}
    assert all(row.score is row.loss is None for row in result.evaluation)
    assert "diverged" in (run.folder / "log.txt").read_text()


def test_a_loss_that_is_not_a_number_is_divergence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Schedule, "rate", lambda schedule, step: math.nan if step == 3 else 0.01)
    run = train(small(task="markers", train_lengths=32, ood_lengths=[], dataset=None), Store(tmp_path))
    assert run.result.status == "diverged" and run.result.learned_at is None and run.result.steps == 5
    assert words(run.result) == [None, None]
    assert [r["value"] for r in run.journal.read() if (r["split"], r["metric"]) == ("train", "loss")][-1] is None


def test_out_of_range_is_said_where_an_encoding_refuses(tmp_path: Path) -> None:
    result = train(small(steps=60, encoding="learned", **EASY), Store(tmp_path)).result
    outside = result.evaluation[-1]
    assert words(result)[1:] == ["solves", "out of range"]
    assert outside.score is None and outside.gap_loss is None


def test_who_did_not_fit_is_told_so_everywhere(tmp_path: Path) -> None:
    result = train(small(steps=1, lr=1e-9, **EASY), Store(tmp_path)).result
    assert set(words(result)) <= {"at chance", "did not fit"} and result.learned_at is None


def test_a_task_scored_by_loss_has_no_words(tmp_path: Path) -> None:
    result = train(small(task="markers", steps=3, train_lengths=32, ood_lengths=[40]), Store(tmp_path)).result
    assert result.bar is result.learned_at is None and result.direction == "lower"
    rows = result.evaluation
    assert words(result) == [None] * len(rows)
    assert rows[1].score == rows[1].loss and set(rows[1].groups) >= {"loss_padding", "accuracy_value"}
    assert rows[2].gap_loss == rows[2].loss - rows[1].loss


def test_two_axes_and_shifted_places_run_too(tmp_path: Path) -> None:
    grid = small(task="image_pattern", encoding="rope_2d", train_lengths=[3, 4], ood_lengths=[5], steps=2, dim=32)
    assert [row.split for row in train(grid, Store(tmp_path)).result.evaluation] == ["valid", "id", "ood"]
    shifted = small(task="shift_pattern", train_lengths=[8, 10], ood_lengths=[12, 20], steps=2)
    result = train(shifted, Store(tmp_path)).result
    assert [(row.split, row.length) for row in result.evaluation[4:]] == [("shift", 10), ("shift", 20)]
    assert None not in words(result)


def test_the_watcher_is_told_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "check_every", lambda config, task: 2)
    seen: list[Progress] = []
    train(small(), Store(tmp_path), seen.append)
    assert seen.pop().evaluating and not any(p.evaluating for p in seen)
    assert [p.step for p in seen] == list(range(1, 21)) and {p.steps for p in seen} == {20}
    assert sum(p.validation is not None for p in seen) == 10
    assert seen[-1].seconds_left == 0 and all(p.seconds_left >= 0 for p in seen)


def test_threads_and_deterministic_mode_are_given_back(tmp_path: Path) -> None:
    torch.set_num_threads(2)
    try:
        run = train(small(steps=1), Store(tmp_path))
        assert torch.get_num_threads() == 2 and read_json(run.folder / "env.json")["threads"] == 1
    finally:
        torch.set_num_threads(1)


def test_a_last_step_that_goes_too_far_is_a_divergence(tmp_path: Path) -> None:
    result = train(small(steps=1, lr=1e30, warmup=0), Store(tmp_path)).result
    assert result.status == "diverged" and result.learned_at is None
    assert set(words(result)) == {"diverged"}


def test_longer_sequences_are_judged_past_the_trained_length(tmp_path: Path) -> None:
    """An absolute table answers at once where it was trained: that half must not pass for going on."""
    config = small(encoding="learned(rows=12)", steps=400, train_lengths=8, dropout=0.0, evaluation_sequences=200)
    row = train(config, Store(tmp_path)).result.evaluation[-1]
    assert (row.split, row.length) == ("ood", 12)
    assert row.accuracy > row.score + 0.1 and row.score == row.groups["accuracy_beyond"]


def test_an_edited_task_is_not_taken_for_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ordinate.tasks.k_back import KBack

    train(small(), Store(tmp_path))
    before = KBack.generate
    monkeypatch.setattr(KBack, "generate", lambda *a: replace(b := before(*a), tokens=b.tokens.flip(1)))
    with pytest.raises(InputError, match="scored on other problems"):
        train(small(), Store(tmp_path))


def test_all_time_counts_not_that_since_the_last_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "SAVE_EVERY", -1.0)
    config, store = small(steps=40), Store(tmp_path)

    def stop(progress: Progress) -> None:
        if progress.step == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, store, stop)
    first = torch.load(store.run(config.id).folder / "checkpoint.pt", weights_only=True)["seconds"]
    assert first > 0
    assert train(config, store).result.seconds > first


def test_an_encodings_dropout_follows_from_the_step_alone(tmp_path: Path) -> None:
    """Whatever was drawn before; and what it drops is no part of what it adds."""
    dropping, whole = (small(encoding=f"sinusoidal{rest}", dropout=0.0) for rest in ("(dropout=0.3)", ""))
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(outcome(train(dropping, Store(tmp_path / str(seed)))))
    assert found[0] == found[1]
    expected = outcome(train(whole, Store(tmp_path / "whole")))
    assert found[0]["result"]["norms"] == expected["result"]["norms"]
    assert found[0]["weights"][0] != expected["weights"][0]
