"""Lists of comparisons, their names and notes, and the bin."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError
from ordinate.statistics.sentences import sentences
from ordinate.store import Store
from ordinate.store.claim import Claim
from ordinate.studies import study_list, study_store
from ordinate.studies.bin import bin_of, delete_runs, delete_study, restore_run, restore_study
from ordinate.studies.check import faults
from ordinate.studies.compare import compare
from ordinate.training import baselines

TINY: dict[str, Any] = dict(
    seeds=2, workers=0, dim=8, heads=2, layers=1, steps=4, batch=8, lr=0.01, train_lengths=[3, 5], ood_lengths=[7],
    evaluation_sequences=20,
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two comparisons that share the two runs of one encoding."""
    folder = tmp_path_factory.mktemp("whole") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "SEQUENCES", 1000)
        compare("binary_majority", "rope,none", store=folder, **TINY)
        compare("binary_majority", "alibi,none", store=folder, **TINY)
    return folder


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Store:
    shutil.copytree(whole, tmp_path / "runs")
    return Store(tmp_path / "runs")


def test_a_row_says_what_the_report_says_and_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, damaged = study_list.study_rows(store)
    assert not damaged and [row.state for row in rows] == ["finished", "finished"]
    assert [row.runs for row in rows] == [4, 4]
    monkeypatch.setattr(
        study_list, "collect_stored", lambda *_: pytest.fail("a finished comparison was collected again")
    )
    assert study_list.study_rows(store)[0] == rows


def test_other_rules_and_lost_runs_make_kept_verdicts_void(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (first, second), _ = study_list.study_rows(store)
    with monkeypatch.context() as patch:
        patch.setattr(study_list, "_rules", lambda: "others")
        patch.setattr(study_list, "sentences", lambda *_: ["under other rules"])
        assert study_list.study_row(store, first.kept).verdicts == {"binary_majority": "under other rules"}
    for run in store.runs():
        if run.config["model"]["encoding"] == "alibi":
            shutil.rmtree(run.folder)
    (first, second), _ = study_list.study_rows(store)
    assert (first.state, first.done, first.runs) == ("stopped", 2, 4) and second.state == "finished"


def test_a_kept_verdict_that_was_altered_is_not_shown(store: Store) -> None:
    (row, _), _ = study_list.study_rows(store)
    path = store.folder / "summaries" / f"{row.kept.study.id}.json"
    path.write_text(path.read_text().replace("binary", "banana"))
    assert study_list.study_row(store, row.kept) == row


def test_names_and_notes(store: Store) -> None:
    before = study_store.names(store)
    kept = study_store.describe(study_store.find(store, before[0]), "the first", "two lines\nof a note")
    assert study_store.names(store) == before  # it keeps its age
    found = study_store.find(store, "the first")
    assert found == kept and found.note == "two lines\nof a note"
    again = study_store.save(store, found.study, found.command)  # as continuing does
    assert (again.title, again.note) == ("the first", "two lines\nof a note")
    assert not list(faults(store))
    with pytest.raises(InputError, match="a name has at most 100 visible characters"):
        study_store.describe(kept, "\x1b[31mred", "")
    assert study_store.find(store, "the first") == kept


def test_deleted_and_restored(store: Store) -> None:
    files = {path.relative_to(store.folder): path.read_bytes() for path in store.folder.rglob("*.json")}
    second, first = study_list.study_rows(store)[0]
    assert delete_study(store, second.kept) == 2  # those of the encoding that only this one has
    rows, _ = study_list.study_rows(store)
    assert [row.kept.study.id for row in rows] == [first.kept.study.id] and rows[0].state == "finished"
    assert len(store.runs()) == 4 and len(bin_of(store).runs()) == 2
    assert not list(faults(store))
    (binned,) = study_store.readable(bin_of(store)).values()
    restore_study(store, binned)
    assert not bin_of(store).runs() and not study_store.names(bin_of(store))
    after = {path.relative_to(store.folder): path.read_bytes() for path in store.folder.rglob("*.json")}
    assert {name: data for name, data in after.items() if name in files} == files
    assert study_store.names(store)[-1] == second.kept.study.id


def test_what_runs_is_not_deleted(store: Store) -> None:
    kept = study_store.find(store)
    own = next(run for run in store.runs() if run.config["model"]["encoding"] == "alibi")
    (own.folder / "result.json").unlink()
    with own.claimed() as mine:
        assert mine
        with pytest.raises(InputError, match=f"run {own.id} is running: stop it before it is deleted"):
            delete_runs(store, [own.id])
        with pytest.raises(InputError, match="is running: stop it before"):
            delete_study(store, kept)
    claim = Claim(kept.folder / "driver")
    with claim.locked() as lock:
        claim.take(lock)
    with pytest.raises(InputError, match=f"comparison {kept.study.id} is running"):
        delete_study(store, kept)
    assert len(store.runs()) == 6 and not bin_of(store).folder.exists()


def test_a_run_is_deleted_and_restored_once(store: Store) -> None:
    name = store.runs()[0].id
    delete_runs(store, [name])
    assert not store.run(name).folder.exists()
    with pytest.raises(InputError, match=f"no run {name} in .*: nothing was deleted"):
        delete_runs(store, [name])
    restore_run(store, name)
    shutil.copytree(store.run(name).folder, bin_of(store).folder / name)
    with pytest.raises(InputError, match="is in the store again"):
        restore_run(store, name)


def test_a_bin_that_leads_elsewhere_gets_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", bin_of(store).folder)
    with pytest.raises(InputError, match="is a link, which is not followed"):
        delete_runs(store, [store.runs()[0].id])
    with pytest.raises(InputError, match="is a link, which is not followed"):
        delete_study(store, study_store.find(store))
    assert len(store.runs()) == 6 and not any((tmp_path / "elsewhere").iterdir())


def test_sentences_are_those_of_the_report(store: Store) -> None:
    comparison = compare("binary_majority", "rope,none", store=store.folder, **TINY)
    row = study_list.study_row(store, study_store.find(store, comparison.id))
    (task,) = comparison.analysis.tasks
    assert row.verdicts == {"binary_majority": sentences(comparison.analysis, task)[0]}
