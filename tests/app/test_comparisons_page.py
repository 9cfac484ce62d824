"""Comparisons, and the way that each is shown."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

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


def rows(at: AppTest) -> list[dict[str, Any]]:
    return at.dataframe[0].value.to_dict("records")  # type: ignore[no-any-return]


def test_the_first_of_all_is_the_newest_of_the_users_own(filled: Store) -> None:
    at = draw("comparisons")
    assert not at.exception
    first = rows(at)[0]
    assert (first["id"], first["state"], first["encodings"]) == (study(filled), "finished", "rope, alibi")
    assert first["name"] == "k_back(k=1,vocabulary=4)" and first["seeds"] == "2"
    kept = study_store.find(filled, study(filled))
    comparison = collect(StudyState(kept.study, filled), kept.command)
    sentence, *_ = sentences(comparison.analysis, comparison.analysis.tasks[0])
    assert first["verdict"] == sentence
    assert plain(sentence) in boxes(at)
    assert any("one learning rate" in box.value for box in at.warning)  # preliminary, and said so


def boxes(at: AppTest) -> list[str]:
    return [box.value for kind in (at.success, at.info, at.warning) for box in kind]


def test_every_pair_and_every_word_is_on_the_page(own: Store) -> None:
    at = draw("comparisons", study="s4-k-back: fair")
    assert not at.exception
    (matrix,) = (table.value for table in at.dataframe if "t5" in table.value)
    cells = matrix.set_index("encoding")
    assert cells.loc["t5", "sinusoidal"].startswith("▲") and cells.loc["sinusoidal", "t5"].startswith("▼")
    assert cells.loc["t5", "t5"] == "" and cells.loc["t5", "rope"] == "·"
    (words,) = (expander for expander in at.expander if expander.label == "What the words mean")
    assert "**reach**" in words.markdown[0].value


def test_without_runs_of_ones_own_the_examples_are_there(own: Store) -> None:
    at = draw("comparisons")
    assert not at.exception and boxes(at)
    assert [row["id"] for row in rows(at)] == study_store.names(open_examples())[::-1]
    assert all(row["state"] == "example" and row["verdict"] for row in rows(at))
    assert not any(button.label == "Move to the bin" for button in at.button)  # examples stay


def test_a_name_and_a_note_are_given(filled: Store) -> None:
    at = draw("comparisons")
    at.text_input[0].set_value("<b>mine</b>")
    at.text_area[0].set_value("a *note*")
    next(button for button in at.button if button.label == "Save").click().run()
    assert not at.exception
    assert (rows(at)[0]["name"], rows(at)[0]["note"]) == ("<b>mine</b>", "a *note*")
    assert at.subheader[0].value == plain("<b>mine</b>")
    assert study_store.find(filled, "<b>mine</b>").study.id == study(filled)


def test_deleted_to_the_bin_and_restored(filled: Store) -> None:
    name, runs = study(filled), {run.id for run in filled.runs()}
    at = draw("comparisons")
    next(button for button in at.button if button.label == "Move to the bin").click().run()
    assert not at.exception and name not in [row["id"] for row in rows(at)]
    assert not filled.runs() and any("1 comparison" in expander.label for expander in at.expander)
    next(button for button in at.button if button.label == "Restore").click().run()
    assert not at.exception and rows(at)[0]["id"] == name and {run.id for run in filled.runs()} == runs


def test_two_side_by_side(filled: Store) -> None:
    example = study_store.find(open_examples(), "s4-k-back: fair").study.id
    at = draw("comparisons", study=f"{study(filled)},{example}")
    assert not at.exception
    settings, scores = at.dataframe[1].value, at.dataframe[2].value
    assert "steps" in list(settings["setting"]) and "model.dim" in list(settings["setting"])
    assert {"seeds", "encodings", "learning rates"} <= set(settings["setting"])
    assert any(heading.value.endswith(plain("s4-k-back: fair")) for heading in at.subheader)
    assert {"k_back", "k_back(k=1,vocabulary=4)"} == set(scores["task"])


def test_what_is_stopped_says_how_far_it_is(filled: Store) -> None:
    shutil.rmtree(filled.runs()[0].folder)
    at = draw("comparisons")
    assert not at.exception and rows(at)[0]["state"] == "stopped, 3 of 4 runs"
    for run in filled.runs():
        (run.folder / "result.json").unlink()
    assert rows(draw("comparisons"))[0]["state"] == "stopped, 0 of 4 runs"


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
    assert boxes(at)


def test_studies_that_are_a_link_hide_no_example(filled: Store) -> None:
    (filled.folder / "studies").rename(filled.folder / "elsewhere")
    (filled.folder / "studies").symlink_to(filled.folder / "elsewhere")
    at = draw("comparisons")
    assert not at.exception and rows(at)
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
    assert boxes(at) or at.error
