"""The page that starts comparisons: what it offers, what it refuses, and how it follows one that runs."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from typing import Any

import pytest

from ordinate import tasks
from ordinate.app import jobs
from ordinate.app.compare_form import KEPT
from ordinate.app.figure_view import plain
from ordinate.app.pace import tail
from ordinate.app.watch import JournalReader, Watched
from ordinate.store import Store
from ordinate.store.files import write_json
from ordinate.store.holder import Holder
from ordinate.studies import study_store
from ordinate.studies.compare import prepare
from ordinate.studies.driver import driver, driving, record, stop
from ordinate.studies.plan import plan

from .conftest import TASK, TINY, draw


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The comparisons that were started, none of them in fact."""
    found: list[Any] = []
    monkeypatch.setattr(jobs, "start", found.append)
    return found


@pytest.mark.parametrize("name", tasks.names())
def test_every_task_has_its_page(name: str, own: Store) -> None:
    at = draw("compare", task=name)
    assert not at.exception and not at.error
    assert at.selectbox(key="task").value == name
    facts = tasks.describe(name)
    assert facts["example"] in [block.value for block in at.code]
    assert any(block.value.startswith(f"ordinate compare {name} ") for block in at.code)


def test_the_form_becomes_the_command(own: Store, started: list[Any]) -> None:
    at = draw("compare", task="k_back")
    at.multiselect(key="encodings-k_back").set_value(["rope", "t5"])
    at.selectbox(key="dim").set_value(32)
    at.selectbox(key="coverage").set_value("offset")
    at.toggle(key="tuned").set_value(False)
    at.run()
    at.text_input(key="lr").set_value("0.01")
    at.number_input(key="seeds").set_value(2)
    at.run()
    assert not at.exception and not at.error
    at.button(key="start").click().run()
    (job,) = started
    folder = str(own.folder)
    expected = f"ordinate compare k_back --encodings rope,t5 --seeds 2 dim=32 coverage=offset lr=0.01 --store {folder}"
    assert job.again == expected
    assert expected in [block.value for block in at.code]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (
            dict(steps="-5", dim="7", heads="2"),
            "This form has no dim=7, steps=-5, which the address requests: the defaults are used",
        ),
        (dict(task="nothing"), "This form has no task=nothing, which the address requests: the default is used"),
        (dict(dim="32", dropout="0.10", tuned="false", lr="0.01", auto="true", steps="100"), ""),
    ],
)
def test_what_an_address_asks_for_in_vain_is_reported(address: dict[str, str], words: str, own: Store) -> None:
    at = draw("compare", **({"task": "k_back"} | address))
    assert not at.exception
    assert words in "".join(warning.value.replace("\\", "") for warning in at.warning) and bool(at.warning) is bool(
        words
    )


def test_the_quick_look_is_that_of_the_command_line(own: Store, started: list[Any]) -> None:
    at = draw("compare", task="k_back")
    at.multiselect(key="encodings-k_back").set_value(["rope", "alibi"])
    at.toggle(key="quick").set_value(True).run()
    at.button(key="start").click().run()
    (job,) = started
    assert job.study == plan("k_back", "rope,alibi", quick=True)
    assert job.command == "ordinate compare k_back --encodings rope,alibi --quick --seeds 3"


def test_a_task_takes_parameters(own: Store, started: list[Any]) -> None:
    at = draw("compare", task="k_back")
    at.text_input(key="parameters-k_back").set_value("k=5, vocabulary=8").run()
    assert not at.exception and not at.error
    assert tasks.describe("k_back(k=5,vocabulary=8)")["example"] in [block.value for block in at.code]
    at.button(key="start").click().run()
    (job,) = started
    assert job.study.tasks == ("k_back(k=5,vocabulary=8)",)
    at.text_input(key="parameters-k_back").set_value("kk=5").run()
    assert not at.exception and "kk" in at.error[0].value and not at.multiselect


@pytest.mark.parametrize("seeds", [0, -3])
def test_seeds_below_one_are_refused_in_a_sentence(own: Store, seeds: int) -> None:
    at = draw("compare", task="k_back")
    at.number_input(key="seeds").set_value(seeds).run()
    assert f"at least 1, got {seeds}" in at.error[0].value.replace("\\", "")
    assert not [button for button in at.button if button.key == "start"]


def test_the_form_is_as_it_was_left_for_another_page(own: Store) -> None:
    """Another page has a field of the same name, which leaves a list there."""
    left = draw("compare", task="modular_sum", dim="32").session_state[KEPT]
    at = draw("compare", {KEPT: left, "task": []})
    assert not at.exception and not at.error and not at.warning
    assert (at.selectbox(key="task").value, at.selectbox(key="dim").value) == ("modular_sum", 32)


@pytest.mark.parametrize(
    ("encodings", "sentence"),
    [
        (["rope"], "one encoding alone"),
        (["rope", "ropee"], "unknown encoding"),
        (["rope", "t5(buckets=-1)"], "buckets"),
        ([], "no encoding was named"),
        (["rope", "<b>*x*</b>"], "cannot read"),
    ],
)
def test_a_mistake_is_one_sentence_and_cannot_be_started(own: Store, encodings: list[str], sentence: str) -> None:
    at = draw("compare", task="k_back")
    at.multiselect(key="encodings-k_back").set_value(encodings)
    at.run()
    assert not at.exception
    assert len(at.error) == 1 and sentence in at.error[0].value.replace("\\", "")
    assert not [button for button in at.button if button.key == "start"]


def test_rates_that_are_no_numbers_are_a_sentence(own: Store) -> None:
    at = draw("compare", task="k_back")
    at.text_input(key="rates").set_value("fast")
    at.run()
    assert not at.exception
    assert "learning rates are numbers" in at.error[0].value
    assert at.success  # known results are shown all the same
    at = draw("compare", task="k_back", tuned="false", lr="0.1, 0.2")
    assert "one learning rate is wanted" in at.error[0].value


def test_a_finished_comparison_is_shown_and_not_started_again(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    job = prepare(TASK, "rope,alibi", seeds=2, store=filled.folder, settings=TINY | {"lr": 0.01})
    from ordinate.app.pages import new_comparison

    monkeypatch.setattr(new_comparison, "_prepared", lambda name, task: job)
    at = draw("compare", task="k_back")
    assert not at.exception
    assert at.button(key="start").disabled
    assert any("all done" in line.value for line in at.caption)
    assert plain(TASK) in [title.value for title in at.subheader]


def test_one_that_runs_is_followed_and_can_be_stopped(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in place of the driver; the page stops it as Ctrl-C would."""
    kept = study_store.find(filled)
    last = filled.runs()[-1].folder
    (last / "result.json").unlink()
    waits = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL); time.sleep(600)"
    sleeper = subprocess.Popen([sys.executable, "-c", waits])  # whatever this process does about Ctrl-C
    record(kept.folder, sleeper.pid)
    try:
        at = draw("comparisons")
        assert not at.exception
        assert any("3 of 4 runs done" in text.value for text in at.markdown)
        states = next(frame.value for frame in at.dataframe if "validation" in frame.value)["state"]
        assert sorted(states) == ["done", "done", "done", "interrupted"]
        next(button for button in at.button if button.key.endswith("-stop")).click().run()
        assert sleeper.wait(timeout=30) == -signal.SIGINT
        assert driver(kept.folder) is None
        at.run()
        assert plain(TASK) in [title.value for title in at.subheader] and any(
            button.key.endswith("-resume") for button in at.button
        )
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_driver_that_died_or_was_somebody_else_is_none(filled: Store) -> None:
    folder = study_store.find(filled).folder
    assert driver(folder) is None and not stop(folder)
    record(folder, os.getpid())
    found = driver(folder)
    assert found is not None and found.pid == os.getpid() and found.near
    write_json(folder / "driver", asdict(replace(found, started="1")))
    assert driver(folder) is None
    (folder / "driver").write_text("not JSON")
    assert driver(folder) is None


def test_one_that_runs_on_another_machine_is_followed_and_cannot_be_stopped_here(filled: Store) -> None:
    folder = study_store.find(filled).folder
    write_json(folder / "driver", asdict(Holder(os.getpid(), "theirs", "1", "elsewhere", "other", "other")))
    at = draw("comparisons")
    assert not at.exception and any("On elsewhere: stop it there." in text.value for text in at.caption)
    assert not any(button.key.endswith("-stop") for button in at.button) and not stop(folder)
    with driving(folder):  # a second one changes nothing
        assert driver(folder).host == "elsewhere"
    assert driver(folder) is not None


def test_a_process_that_was_started_for_it_takes_over(filled: Store) -> None:
    folder = study_store.find(filled).folder
    record(folder, os.getpid())
    with driving(folder):
        assert driver(folder).token
    assert driver(folder) is None


def test_what_it_starts_is_the_command(own: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    words: list[str] = []

    class Child:
        pid = os.getpid()

        def __init__(self, given: list[str], **more: Any) -> None:
            words.extend(given)
            assert more["start_new_session"]

        def poll(self) -> None:
            return None

    monkeypatch.setattr(jobs.subprocess, "Popen", Child)
    job = prepare(TASK, "rope,alibi", seeds=2, store=own.folder, settings=TINY | {"lr": 0.01})
    jobs.start(job)
    assert words[:4] == [sys.executable, "-m", "ordinate", "compare"]
    assert words[-2:] == ["--yes", "--no-estimate"] and TASK in words
    assert study_store.find(own).study == job.study
    assert driver(job.folder) is not None
    assert tail(job.folder / "log.txt") == ""


def line(run: str, step: int, value: float) -> bytes:
    """A line of a journal."""
    record = {"run": run, "step": step, "split": "valid", "length": 32, "metric": "accuracy", "value": value}
    return json.dumps(record).encode() + b"\n"


def test_a_journal_is_read_once_and_again_when_it_began_anew(filled: Store) -> None:
    run = filled.runs()[0]
    reader = JournalReader()
    reader.read(filled, run.id)
    before, size = reader.step, reader.at
    assert before == 20 and size == run.journal.path.stat().st_size
    with open(run.journal.path, "ab") as file:
        file.write(line(run.id, 21, 0.5) + b'{"step": 22, "sp')
    reader.read(filled, run.id)
    assert reader.step == 21  # the torn line waits
    run.journal.path.write_bytes(line(run.id, 1, 0.1))
    reader.read(filled, run.id)
    assert reader.step == 1


def test_a_look_has_the_curves_of_finished_and_of_running_runs(filled: Store) -> None:
    kept = study_store.find(filled)
    whole = Watched(kept.study, filled).look()
    assert whole.count("done") == 4 and {curve.encoding for curve in whole.curves} == {"rope", "alibi"}
    for run in filled.runs():
        (run.folder / "result.json").unlink()
    again = Watched(kept.study, filled).look()
    assert again.count("interrupted") == 4
    assert [curve.steps for curve in again.curves] == [curve.steps for curve in whole.curves]
    assert [curve.values for curve in again.curves] == [curve.values for curve in whole.curves]


def test_a_run_that_is_damaged_is_named_and_the_others_are_watched(filled: Store) -> None:
    kept = study_store.find(filled)
    (filled.runs()[0].folder / "result.json").write_text("{}")
    look = Watched(kept.study, filled).look()
    assert (look.count("damaged"), look.count("done")) == (1, 3)
