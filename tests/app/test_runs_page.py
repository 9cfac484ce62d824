"""The page Runs over stores with runs of every kind."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ordinate.app import run_list, stores
from ordinate.app.figure_view import plain
from ordinate.store import Store, open_store
from ordinate.store.files import Journal, write_json
from ordinate.store.holder import Holder, started
from ordinate.studies.bin import bin_of

from .conftest import draw
from .kept_runs import run


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the examples: empty."""
    monkeypatch.setattr(stores, "open_examples", lambda: open_store(tmp_path / "examples"))
    return tmp_path / "examples"


def opened(**address: str) -> AppTest:
    page = draw("runs", **address)
    assert not page.exception
    return page


def table(page: AppTest) -> list[dict[str, Any]]:
    return page.dataframe[0].value.to_dict("records")  # type: ignore[no-any-return]


def charts(page: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec or chart.proto.figure.spec) for chart in page.get("plotly_chart")]


def words(page: AppTest) -> str:
    """All texts of the page."""
    kinds = (page.title, page.subheader, page.markdown, page.caption, page.info, page.warning, page.error, page.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def test_an_empty_store_says_what_to_press_and_shows_the_examples(own: Store, examples: Path) -> None:
    nothing = opened()
    assert "Press **Start** on the page Compare" in words(nothing) and not nothing.dataframe
    example = run(examples)
    page = opened()
    assert "these are the examples" in words(page) and [row["run"] for row in table(page)] == [example]
    assert not (examples / "table.jsonl").exists()  # what comes with the program is not written to
    assert not opened(store="own").dataframe


def test_every_state_has_its_row(own: Store) -> None:
    states = ("done", "diverged", "failed", "interrupted")
    ids = {state: run(own.folder, state, seed=seed) for seed, state in enumerate(states)}
    ids["damaged"] = run(own.folder, seed=9)
    (own.folder / ids["damaged"] / "result.json").write_text("{")
    page = opened()
    assert {row["run"]: row["state"] for row in table(page)} == {run_id: state for state, run_id in ids.items()}
    done = next(row for row in table(page) if row["state"] == "done")
    assert (done["pilot"], done["learned at"], done["in distribution"]) == ("yes", 10, 1.0)
    assert (done["tested at"], done["score there"], done["verdict"]) == ("OOD length 16", 0.5, "partial")
    assert "is damaged (not JSON)" in page.dataframe[1].value["what is wrong"][0]


def test_a_run_that_learned_nothing_has_no_score_beyond(own: Store) -> None:
    run_id = run(own.folder, score=0.6)
    page = opened(run=run_id)
    (row,) = table(page)
    assert row["score there"] is None or row["score there"] != row["score there"]
    assert row["verdict"] == "still rising"
    assert "did not learn the task, so nothing is drawn" in words(page).replace("\\", "")


def test_filters_stand_in_the_address(own: Store) -> None:
    rope, alibi = run(own.folder, encoding="rope"), run(own.folder, encoding="alibi")
    failed = run(own.folder, "failed", encoding="rope", seed=5)
    assert {row["run"] for row in table(opened(encodings="rope"))} == {rope, failed}
    assert {row["run"] for row in table(opened(encodings="rope", states="done"))} == {rope}
    assert {row["run"] for row in table(opened(find=f"ALIBI {alibi[:5]}"))} == {alibi}
    assert {row["run"] for row in table(opened(find="luck"))} == {failed}  # its error
    assert "0 of 3 runs" in words(opened(find="nowhere"))


def test_one_run_in_full(own: Store) -> None:
    run_id = run(own.folder, maps=True, lr=0.02)
    page = opened(run=run_id[:6])  # first digits will do
    assert "k_back(k=1,vocabulary=4) with rope, seed 1337" in page.subheader[0].value.replace("\\", "")
    names = [[trace["name"] for trace in chart["data"]] for chart in charts(page)]
    assert names[0] == names[1] == ["training", "validation"]
    assert names[2] == ["chance", "floor", "score"] and names[4] == ["L1 H1", "L1 H2"]
    assert names[3] == ["L1 H1"]  # the chosen head, large
    assert charts(page)[3]["data"][0]["dx"] == 2  # 300 positions are too many for a screen
    settings = {row["setting"]: row for row in page.dataframe[1].value.to_dict("records")}
    assert settings["lr"]["differs"] and settings["lr"]["value"] == "0.02" and not settings["clip"]["differs"]
    (command,) = [code.value for code in page.code if code.value.startswith("ordinate train")]
    assert "'k_back(k=1,vocabulary=4)' --encoding rope" in command and "lr=0.02" in command
    assert "the end" in words(page)
    page.segmented_control(key="by").set_value("seconds").run()
    assert charts(page)[0]["data"][1]["x"] == [20.0, 40.0]  # 40 seconds in 20 steps
    page.slider(key="smoothing").set_value(0.5).run()
    assert len(charts(page)[0]["data"]) == 4 and not page.exception


def test_the_error_and_the_log_of_a_failed_run(own: Store) -> None:
    page = opened(run=run(own.folder, "failed"))
    assert "Failed at step 20" in page.error[0].value and plain("<b>no</b> luck") in page.error[0].value
    assert any("a line" in code.value for code in page.code) and any("the end" in code.value for code in page.code)


def test_two_runs_side_by_side(own: Store) -> None:
    one, two = run(own.folder, encoding="rope", seed=1), run(own.folder, encoding="rope", seed=2)
    three = run(own.folder, "failed", encoding="alibi", seed=1)
    page = opened(run=f"{one},{two},{three}")
    assert page.subheader[0].value == "3 runs side by side"
    differences = page.dataframe[2].value
    assert list(differences.columns) == ["setting", "rope seed 1", "rope seed 2", "alibi seed 1"]
    assert sorted(differences["setting"]) == ["encoding", "seed"]
    accuracy, _, lengths = charts(page)
    assert {t["name"] for t in accuracy["data"] if t["showlegend"]} == {"rope seed 1", "rope seed 2", "alibi seed 1"}
    assert [t["name"] for t in lengths["data"]][2:] == ["rope seed 1", "rope seed 2"]  # the third has no scores
    looks = {(t["line"]["color"], t["line"]["dash"]) for t in lengths["data"][2:]}
    assert len(looks) == 2 and len({color for color, _ in looks}) == 1  # one color per encoding


def test_an_id_that_is_not_there_is_one_sentence(own: Store) -> None:
    known = run(own.folder)
    for wanted in ("ffffffffffff", "../../etc", "<b>x</b>"):
        page = opened(run=wanted)
        (error,) = page.error
        assert error.value == (
            f"No run {plain(wanted)} is in this store: tick one in the table, or look into the other store."
        )
    assert len(opened(run=f"{known},nope").error) == 1


@pytest.mark.parametrize("name", ["config.json", "result.json", "metrics.jsonl", "env.json", "attention.safetensors"])
@pytest.mark.parametrize("content", ["{\n", "[1]\n", '{"schema": 2}\n', "\x00\xff\n"])
def test_a_damaged_file_does_not_break_the_page(own: Store, name: str, content: str) -> None:
    run_id = run(own.folder, maps=True)
    other = run(own.folder, seed=5)
    (own.folder / run_id / name).write_text(content)
    page = opened(run=f"{run_id}")
    assert {row["run"] for row in table(page)} == {run_id, other}
    if name not in ("env.json", "attention.safetensors"):
        assert any("damaged" in error.value for error in page.error)
    assert not opened(run=f"{run_id},{other}").exception


def test_names_with_markup_are_shown_as_text(own: Store) -> None:
    names = ("<b>x</b>", "*x*", "[a](http://x)")
    ids = [run(own.folder, task=name, encoding=name) for name in names]
    for run_id, name in zip(ids, names, strict=True):
        page = opened(run=run_id)
        assert plain(f"{name} with {name}") in page.subheader[0].value
        assert name not in words(page).replace(plain(name), "")
    page = opened(run=",".join(ids))
    assert not any(name in words(page).replace(plain(name), "") for name in names)
    assert "&lt;b&gt;x" in json.dumps(charts(page))


def test_a_run_under_way_grows(own: Store) -> None:
    run_id = run(own.folder, "interrupted", steps=40)
    process = os.getpid()
    write_json(own.folder / run_id / "claim", asdict(Holder(process, "token", started(process))))
    page = opened(run=run_id)
    assert table(page)[0]["state"] == "running" and "1 running" in words(page)
    assert len(charts(page)[0]["data"][0]["x"]) == 20
    record = {"run": run_id, "step": 30, "split": "train", "length": None, "metric": "accuracy", "value": 0.5}
    Journal(own.folder / run_id / "metrics.jsonl").append([record])
    assert charts(page.run())[0]["data"][0]["x"][-1] == 30
    (own.folder / run_id / "claim").unlink()
    assert table(page.run())[0]["state"] == "interrupted"


def test_a_store_without_journals_shows_the_curves_of_its_results(own: Store) -> None:
    run_id = run(own.folder)
    for name in ("metrics.jsonl", "log.txt", "env.json"):
        (own.folder / run_id / name).unlink()
    page = opened(run=run_id)
    assert [trace["name"] for trace in charts(page)[0]["data"]] == ["validation"] and not page.error


def test_seeds_are_grouped_by_all_settings_but_the_seed(filled: Store) -> None:
    page = opened(group="true")
    rows = table(page)
    assert sorted((row["encoding"], row["seeds"], row["state"]) for row in rows) == [
        ("alibi", 2, "2 done"),
        ("rope", 2, "2 done"),
    ]
    alone = table(opened())
    for row in rows:
        scores = [one["in distribution"] for one in alone if one["encoding"] == row["encoding"]]
        assert row["in distribution"] == pytest.approx(sum(scores) / 2)
    summaries, _ = run_list.rows(filled, keep=False)
    other = [replace(summaries[0], settings="others"), *summaries[1:]]
    assert [len(run_list.groups(found, by_settings=True)) for found in (summaries, other)] == [2, 3]
    assert len(run_list.groups(summaries, by_settings=False)) == 4


def test_ticked_runs_are_deleted_to_the_bin(filled: Store) -> None:
    names = [one.id for one in filled.runs()]
    page = opened(run=f"{names[0]},{names[1]}")
    next(button for button in page.button if button.label == "Move to the bin").click().run()
    assert not page.exception
    assert [one.id for one in filled.runs()] == names[2:] and {one["run"] for one in table(page)} == set(names[2:])
    assert [one.id for one in bin_of(filled).runs()] == names[:2]
    page.multiselect(key="bin").select(names[0]).run()
    page.button(key="restore-runs").click().run()
    assert not page.exception and {one.id for one in filled.runs()} == {names[0], *names[2:]}
    assert not opened(run=names[2], store="examples").dataframe
