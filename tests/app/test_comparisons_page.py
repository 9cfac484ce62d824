"""Comparisons, and the way that each is shown."""

import json
from pathlib import Path

import pytest

from ordinate.app import comparison_view
from ordinate.app.figure_view import plain
from ordinate.report.summary import main_ranges, summary_table
from ordinate.statistics.sentences import sentences
from ordinate.store import Store
from ordinate.store.examples import open_examples
from ordinate.studies import study_store
from ordinate.studies.collect import collect
from ordinate.studies.study_state import StudyState

from .conftest import draw


def study(store: Store) -> str:
    return study_store.names(store)[-1]


def test_the_first_of_all_is_the_newest_of_the_users_own(filled: Store) -> None:
    at = draw("comparisons")
    assert not at.exception
    assert at.selectbox(key="study").value == study(filled)
    assert (
        at.selectbox(key="study").options[0].startswith("k_back(k=1,vocabulary=4) · rope, alibi · 2 seeds · one rate")
    )
    kept = study_store.find(filled, study(filled))
    comparison = collect(StudyState(kept.study, filled), kept.command)
    first, *_ = sentences(comparison.analysis, comparison.analysis.tasks[0])
    assert plain(first) in [box.value for box in at.success]
    assert any("one learning rate" in box.value for box in at.warning)  # preliminary, and said so


def test_without_runs_of_ones_own_the_examples_are_there(own: Store) -> None:
    at = draw("comparisons")
    assert not at.exception
    assert at.selectbox(key="study").value == study(open_examples()) and at.success
    assert all("example" in option for option in at.selectbox(key="study").options)


def test_an_unknown_one_in_the_address_is_a_sentence(filled: Store) -> None:
    at = draw("comparisons", study="../../etc/passwd")
    assert not at.exception
    assert len(at.error) == 1 and "choose another one" in at.error[0].value


def test_a_damaged_study_is_named_and_the_others_are_shown(filled: Store) -> None:
    broken = filled.folder / "studies" / "0123456789ab"
    broken.mkdir()
    (broken / "study.json").write_text('{"schema": 2}')
    at = draw("comparisons")
    assert not at.exception
    assert any("0123456789ab" in box.value.replace("\\", "") for box in at.warning)
    assert at.success


def test_studies_that_are_a_link_hide_no_example(filled: Store) -> None:
    (filled.folder / "studies").rename(filled.folder / "elsewhere")
    (filled.folder / "studies").symlink_to(filled.folder / "elsewhere")
    at = draw("comparisons")
    assert not at.exception and at.selectbox
    assert any("is a link, which is not followed" in box.value for box in at.warning)


def test_a_run_that_failed_is_named_and_the_rest_is_shown(filled: Store) -> None:
    run = filled.runs()[0]
    (run.folder / "result.json").unlink()
    (run.folder / "error.txt").write_text("Traceback\nRuntimeError: <b>no luck</b> *at all*")
    at = draw("comparisons")
    assert not at.exception
    assert any("1 run failed" in box.value for box in at.error)
    assert any("no luck" in str(frame.value.values) for frame in at.dataframe)
    assert any(button.key.endswith("-resume") for button in at.button)  # and it can be tried again


def test_names_with_markup_stay_text() -> None:
    assert plain("<b>*x*</b> [a](http://b) `c` $d$ :red[e]") == (
        r"\<b\>\*x\*\</b\> \[a\]\(http\://b\) \`c\` \$d\$ \:red\[e\]"
    )


def test_the_gap_of_seeds_that_are_not_ranked_is_shown(filled: Store) -> None:
    kept = study_store.find(filled, study(filled))
    comparison = collect(StudyState(kept.study, filled), kept.command)
    task = comparison.analysis.tasks[0]
    table = comparison_view.frame(summary_table(task, "accuracy", main_ranges(task)))
    assert list(table["encoding"]) == list(task.encodings)
    for row, encoding in zip(table.to_dict("records"), task.encodings, strict=True):
        beyond, inside = task.shown.cell(encoding), task.shown.cell(encoding).inside
        if task.learned[encoding][0] == 0 and beyond.unranked is not None and inside is not None:
            assert row["gap"] == pytest.approx(inside - beyond.unranked)


@pytest.mark.parametrize("torn", ["", "{", "[]", json.dumps({"schema": 99})])
def test_whatever_stands_in_a_result_the_page_is_drawn(filled: Store, torn: str) -> None:
    run: Path = filled.runs()[0].folder
    (run / "result.json").write_text(torn)
    at = draw("comparisons")
    assert not at.exception
    assert at.success or at.error
