"""What runs now is on every page: from the store alone, by steps, with the time left as a range."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import pytest

from ordinate.app import jobs
from ordinate.app.pages import PAGES
from ordinate.app.running_view import ended_ids, progress_words, running_ids
from ordinate.app.watch import Watched
from ordinate.report.colors import styles
from ordinate.report.draw_plotly import draw as draw_chart
from ordinate.report.live_curves import live_chart
from ordinate.results.comparison import Curve
from ordinate.store import Store
from ordinate.studies import study_store
from ordinate.studies.compare import prepare
from ordinate.studies.driver import driver, record
from ordinate.studies.study_store import StoredStudy
from ordinate.studies.time_left import RunAhead, range_words, time_left

from .conftest import TASK, TINY, draw


@pytest.fixture
def running(filled: Store) -> Iterator[StoredStudy]:
    """A comparison with one run still to do, and a process in place of its driver."""
    import_module("ordinate.app.live_view")  # as the server does beside the first page
    kept = study_store.find(filled)
    (filled.runs()[-1].folder / "result.json").unlink()
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    record(kept.folder, sleeper.pid)
    yield kept
    sleeper.kill()
    sleeper.wait()


@pytest.mark.parametrize("name", PAGES)
def test_every_page_shows_what_runs(name: str, running: StoredStudy) -> None:
    at = draw(name)
    assert not at.exception
    assert any("**Running**: k\\_back" in text.value for text in at.markdown)
    assert any(button.key == f"{running.study.id}-stop" for button in at.button)


def test_a_form_that_changed_does_not_hide_what_runs(running: StoredStudy) -> None:
    """The form plans k_back with its defaults, which is another comparison than the one that runs."""
    at = draw("compare", task="k_back")
    assert not at.exception
    before = [text.value for text in at.markdown if "runs done" in text.value]
    assert before
    at.selectbox(key="dim").set_value(32)
    at.run()
    assert [text.value for text in at.markdown if "runs done" in text.value] == before
    assert not any("example that came with the program" in text.value for text in at.caption)


def test_progress_counts_the_steps_of_all_runs(filled: Store) -> None:
    kept = study_store.find(filled)
    assert Watched(kept.study, filled).look().share == 1
    last = filled.runs()[-1].folder
    (last / "result.json").unlink()
    lines = [line for line in (last / "metrics.jsonl").read_bytes().splitlines(True) if json.loads(line)["step"] <= 10]
    (last / "metrics.jsonl").write_bytes(b"".join(lines))
    look = Watched(kept.study, filled).look()
    assert look.share == pytest.approx(70 / 80)  # three runs of 20 steps, and 10 of 20
    shutil.rmtree(last)
    assert Watched(kept.study, filled).look().share == pytest.approx(60 / 80)


def test_pilots_are_drawn_and_later_seeds_are_part_of_the_whole(own: Store) -> None:
    job = prepare(TASK, "rope,alibi", seeds=2, rates=[0.01, 0.03], store=own.folder, settings=TINY)
    look = Watched(job.study, own).look()
    assert look.pilot and look.stage == "learning rates" and look.share == 0 and look.left is None
    assert len(look.curves) == len(look.losses) == len(look.runs) == 4


def test_losses_are_there_from_the_first_step(filled: Store) -> None:
    kept = study_store.find(filled)
    look = Watched(kept.study, filled).look()
    assert all(curve.steps[0] == 1 for curve in look.losses) and len(look.losses) == 4


def test_a_chart_without_a_point_has_its_lines_and_can_be_drawn() -> None:
    looks = styles(["rope"])
    for pilot in (True, False):
        chart = live_chart("k_back", [], [], looks, order=["rope"], metric="accuracy", pilot=pilot, share=True, steps=9)
        drawn = draw_chart(chart)
        assert drawn["data"] and drawn["layout"]["xaxis"]["range"] == [0, 9]


def test_pilot_curves_are_dotted_and_those_under_way_end_in_a_point() -> None:
    curves = [Curve("k_back", "rope", 0, (1, 2), (3.0, 2.0)), Curve("k_back", "rope", 0, (1,), (4.0,))]
    chart = live_chart(
        "k_back", curves, curves[1:], styles(["rope"]), order=["rope"], metric="loss", pilot=True, steps=9
    )
    line, point = chart.series
    assert line.style.dash == "dot" and line.x == (1, 2, None, 1) and line.y == (3.0, 2.0, None, 4.0)
    assert point.look == "points" and (point.x, point.y) == ((1,), (4.0,))


def test_time_left_is_a_range_from_early_to_the_whole_budget() -> None:
    runs = [RunAhead("rope", 100, 1000, 300), RunAhead("alibi", 0, 1000, 1000)]
    low, high = time_left(runs, {"rope": [0.1, 0.3]}, 2) or (0, 0)
    assert low == pytest.approx((200 * 0.1 + 1000 * 0.2) / 2)  # alibi: as fast as the others on average
    assert high > (900 * 0.3 + 1000 * 0.2) / 2
    assert time_left(runs, {}, 2) is None
    slower = time_left(runs, {"rope": [0.1, 0.9]}, 2)
    assert slower is not None and slower[1] > high and slower[0] >= low  # a busy machine widens it


@pytest.mark.parametrize(
    ("seconds", "words"),
    [((180, 480), "3 to 8 min"), ((40, 120), "40 s to 2 min"), ((300, 305), "about 5 min"), ((0, 5), "0 to 5 s")],
)
def test_ranges_in_words(seconds: tuple[float, float], words: str) -> None:
    assert range_words(seconds) == words


def test_states_in_words(filled: Store) -> None:
    """Starting workers is a state; after Stop only what is under way counts."""
    look = Watched(study_store.find(filled).study, filled).look()
    seeds = replace(look, stage="seeds 1 to 2", share=0.43, left=(600.0, 1200.0), left_under_way=(5.0, 20.0))
    assert progress_words(seeds, stopping=False, workers=2) == "Starting 2 workers"
    assert progress_words(seeds, stopping=False, workers=None) == "Starting workers"
    under_way = replace(seeds, under_way=frozenset({"a", "b"}))
    assert progress_words(under_way, stopping=False, workers=2) == "seeds 1 to 2: 43 % of all steps, 10 to 20 min left"
    assert progress_words(under_way, stopping=True, workers=2) == "Stopping: finishing 2 runs under way, 5 to 20 s left"
    unknown = replace(under_way, left=None)
    assert "known after a few steps" in progress_words(unknown, stopping=False, workers=2)


def test_stop_is_known_to_every_tab_until_its_process_ends(running: StoredStudy) -> None:
    assert not jobs.stopping(running.folder)
    jobs.stop(running.folder)
    process = driver(running.folder)
    assert process is None or jobs.stopping(running.folder)


def test_one_that_ended_is_offered_until_it_is_dismissed(running: StoredStudy, filled: Store) -> None:
    at = draw("start")
    assert running_ids(filled) == [running.study.id]
    (running.folder / "driver").unlink()
    at.run()
    assert not at.exception
    assert any(text.value.startswith("**Stopped** (3 of 4 runs done)") for text in at.markdown)
    at.button(key=f"{running.study.id}-dismiss").click().run()
    assert not any("Stopped" in text.value for text in at.markdown)


def test_a_comparison_that_was_stopped_twice_has_ended_once() -> None:
    stopped = ended_ids([], ["a"], [])
    assert stopped == ["a"]
    assert ended_ids(stopped, [], ["a"]) == []  # it goes on
    assert ended_ids(["a"], ["a", "b"], ["c"]) == ["a", "b"]
