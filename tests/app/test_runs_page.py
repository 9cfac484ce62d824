"""The page Runs over stores with runs of every kind."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ordinate.app import stores
from ordinate.app.pictures import plain
from ordinate.store import open_store
from ordinate.store.files import Journal, write_json
from ordinate.store.run import started
from tests.app.kept_runs import run

Open = Callable[..., AppTest]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's store; the examples are another one."""
    monkeypatch.setenv(stores.STORE, str(tmp_path / "own"))
    monkeypatch.setattr(stores, "open_examples", lambda: open_store(tmp_path / "examples"))
    return tmp_path / "own"


@pytest.fixture
def opened(own: Path) -> Open:
    def script() -> None:
        from ordinate.app.pages import runs

        runs.page()

    def open_page(**address: str) -> AppTest:
        page = AppTest.from_function(script, default_timeout=120)
        for name, value in address.items():
            page.query_params[name] = value
        page.run()
        assert not page.exception
        return page

    return open_page


def table(page: AppTest) -> list[dict[str, Any]]:
    return page.dataframe[0].value.to_dict("records")  # type: ignore[no-any-return]


def charts(page: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec or chart.proto.figure.spec) for chart in page.get("plotly_chart")]


def words(page: AppTest) -> str:
    """All texts of the page."""
    kinds = (page.title, page.subheader, page.markdown, page.caption, page.info, page.warning, page.error, page.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def test_an_empty_store_says_what_to_press_and_shows_the_examples(own: Path, opened: Open, tmp_path: Path) -> None:
    nothing = opened()
    assert "Press **Start** on the page Compare" in words(nothing) and not nothing.dataframe
    example = run(tmp_path / "examples")
    page = opened()
    assert "these are the examples" in words(page) and [row["run"] for row in table(page)] == [example]
    assert not (tmp_path / "examples" / "table.jsonl").exists()  # what comes with the program is not written to
    assert not opened(store="own").dataframe


def test_every_state_has_its_row(own: Path, opened: Open) -> None:
    ids = {
        state: run(own, state, seed=seed) for seed, state in enumerate(("done", "diverged", "failed", "interrupted"))
    }
    ids["damaged"] = run(own, seed=9)
    (own / ids["damaged"] / "result.json").write_text("{")
    page = opened()
    assert {row["run"]: row["state"] for row in table(page)} == {run_id: state for state, run_id in ids.items()}
    done = next(row for row in table(page) if row["state"] == "done")
    assert (done["pilot"], done["learnt at"], done["in distribution"]) == ("yes", 10, 1.0)
    assert (done["tested at"], done["score there"], done["verdict"]) == ("longer 16", 0.5, "partial")
    assert "is damaged (not JSON)" in str(page.dataframe[1].value)


def test_a_run_that_learnt_nothing_has_no_score_beyond(own: Path, opened: Open) -> None:
    run_id = run(own, score=0.6)
    page = opened(run=run_id)
    (row,) = table(page)
    assert row["score there"] is None or row["score there"] != row["score there"]
    assert row["verdict"] == "did not fit"
    assert "did not learn the task, so nothing is drawn" in words(page).replace("\\", "")


def test_filters_stand_in_the_address(own: Path, opened: Open) -> None:
    rope, alibi = run(own, encoding="rope"), run(own, encoding="alibi")
    failed = run(own, "failed", encoding="rope", seed=5)
    assert {row["run"] for row in table(opened(encoding="rope"))} == {rope, failed}
    assert {row["run"] for row in table(opened(encoding="rope", state="done"))} == {rope}
    assert {row["run"] for row in table(opened(find=f"ALIBI {alibi[:5]}"))} == {alibi}
    assert {row["run"] for row in table(opened(find="luck"))} == {failed}  # its error
    assert "0 of 3 runs" in words(opened(find="nowhere"))


def test_one_run_in_full(own: Path, opened: Open) -> None:
    run_id = run(own, maps=True, lr=0.02)
    page = opened(run=run_id[:6])  # first digits will do
    assert "k_back(k=1,vocabulary=4) with rope, seed 1337" in page.subheader[0].value.replace("\\", "")
    names = [[trace["name"] for trace in chart["data"]] for chart in charts(page)]
    assert names[0] == names[1] == ["training", "validation"]
    assert names[2] == ["chance", "floor", "score"] and names[3] == ["L1 H1", "L1 H2"]
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


def test_the_error_and_the_log_of_a_failed_run(own: Path, opened: Open) -> None:
    page = opened(run=run(own, "failed"))
    assert "Failed at step 20" in page.error[0].value and plain("<b>no</b> luck") in page.error[0].value
    assert any("a line" in code.value for code in page.code) and any("the end" in code.value for code in page.code)


def test_two_runs_side_by_side(own: Path, opened: Open) -> None:
    one, two = run(own, encoding="rope", seed=1), run(own, encoding="rope", seed=2)
    three = run(own, "failed", encoding="alibi", seed=1)
    page = opened(run=f"{one},{two},{three}")
    assert page.subheader[0].value == "3 runs side by side"
    differences = page.dataframe[2].value
    assert list(differences.columns) == ["setting", "rope seed 1", "rope seed 2", "alibi seed 1"]
    assert sorted(differences["setting"]) == ["encoding", "seed"]
    accuracy, _, lengths = charts(page)
    assert {t["name"] for t in accuracy["data"] if t["showlegend"]} == {"rope seed 1", "rope seed 2", "alibi seed 1"}
    assert [t["name"] for t in lengths["data"]][2:] == ["rope seed 1", "rope seed 2"]  # the third has no scores
    looks = {(t["line"]["color"], t["line"]["dash"]) for t in lengths["data"][2:]}
    assert len(looks) == 2 and len({colour for colour, _ in looks}) == 1  # one colour per encoding


def test_an_id_that_is_not_there_is_one_sentence(own: Path, opened: Open) -> None:
    known = run(own)
    for asked in ("ffffffffffff", "../../etc", "<b>x</b>"):
        page = opened(run=asked)
        (error,) = page.error
        assert error.value == (
            f"No run {plain(asked)} is in this store: tick one in the table, or look into the other store."
        )
    assert len(opened(run=f"{known},nope").error) == 1


@pytest.mark.parametrize("name", ["config.json", "result.json", "metrics.jsonl", "env.json", "attention.safetensors"])
@pytest.mark.parametrize("content", ["{", "[1]", '{"schema": 1}\n', "\x00\xff"])
def test_a_damaged_file_does_not_break_the_page(own: Path, opened: Open, name: str, content: str) -> None:
    run_id = run(own, maps=True)
    other = run(own, seed=5)
    (own / run_id / name).write_text(content)
    page = opened(run=f"{run_id}")
    assert {row["run"] for row in table(page)} == {run_id, other}
    if name not in ("env.json", "attention.safetensors"):
        assert any("damaged" in error.value for error in page.error)
    assert not opened(run=f"{run_id},{other}").exception


def test_names_with_markup_are_shown_as_text(own: Path, opened: Open) -> None:
    names = ("<b>x</b>", "*x*", "[a](http://x)")
    ids = [run(own, task=name, encoding=name) for name in names]
    for run_id, name in zip(ids, names, strict=True):
        page = opened(run=run_id)
        assert plain(f"{name} with {name}") in page.subheader[0].value
        assert name not in words(page).replace(plain(name), "")
    page = opened(run=",".join(ids))
    assert not any(name in words(page).replace(plain(name), "") for name in names)
    assert "&lt;b&gt;x" in json.dumps(charts(page))


def test_a_run_under_way_grows(own: Path, opened: Open) -> None:
    run_id = run(own, "interrupted", steps=40)
    process = os.getpid()
    claim = {"token": "t", "host": socket.gethostname(), "pid": process, "started": started(process)}
    write_json(own / run_id / "claim", claim)
    page = opened(run=run_id)
    assert table(page)[0]["state"] == "running" and "1 running" in words(page)
    assert len(charts(page)[0]["data"][0]["x"]) == 20
    record = {"run": run_id, "step": 30, "split": "train", "length": None, "metric": "accuracy", "value": 0.5}
    Journal(own / run_id / "metrics.jsonl").append([record])
    assert charts(page.run())[0]["data"][0]["x"][-1] == 30
    (own / run_id / "claim").unlink()
    assert table(page.run())[0]["state"] == "interrupted"


def test_a_store_without_journals_shows_the_curves_of_its_results(own: Path, opened: Open) -> None:
    run_id = run(own)
    for name in ("metrics.jsonl", "log.txt", "env.json"):
        (own / run_id / name).unlink()
    page = opened(run=run_id)
    assert [trace["name"] for trace in charts(page)[0]["data"]] == ["validation"] and not page.error
