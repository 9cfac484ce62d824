"""Runs side by side: the same as one by one, each once, whatever dies."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError
from ordinate.results.comparison import Comparison
from ordinate.store import Store
from ordinate.studies.collect import collect
from ordinate.studies.compare import carry_out, compare
from ordinate.studies.driver import driving
from ordinate.studies.executor import Event, StudyStopped
from ordinate.studies.local import Local
from ordinate.studies.plan import Study
from ordinate.studies.study_state import StudyState
from ordinate.studies.worker_pool import DEATHS
from ordinate.training import RunConfig, checkpoint

from . import made
from .conftest import Whole
from .processes import Process, alive, ended, log, outcomes, owners, until

SWEPT: dict[str, Any] = dict(encodings=made.ENCODINGS, **made.SWEPT)
FIXED: dict[str, Any] = dict(seeds=2, fixed=True)
LONG_RUN = dict(steps=100_000)


def runs_of(asked: Study, seeds: int) -> list[RunConfig]:
    """The reported runs of a study without a sweep."""
    return [base.again(seed, base.lr) for seed in range(1, seeds + 1) for _, _, base in asked.bases]


def told(comparison: Comparison) -> Comparison:
    """What a comparison says, but for time and place."""
    return replace(
        comparison,
        profiles=tuple(replace(p, step_ms=0.0, attention=None) for p in comparison.profiles),
        runs=tuple(replace(run, seconds=None, started="") for run in comparison.runs),
        machine=None,
        command="",
    )


def report(store: Store, **options: Any) -> Comparison:
    return told(collect(StudyState(made.study(**options), store), ""))


def work(store: Store, options: dict[str, Any], workers: int, note: Path | None = None) -> None:
    """What a driver process does; `note` tells how it ended."""
    executor = Local(store, workers)

    def watch(event: Event) -> None:
        if note:
            note.with_suffix(".stops").write_text(str(executor.stop))

    end = "done"
    try:
        carry_out(made.study(**options), store, executor, watch)
    except StudyStopped:
        end = "stopped"
    finally:
        executor.close()
    if note:
        note.write_text(end)


Driver = Callable[..., Any]


@pytest.fixture
def driver() -> Iterator[Driver]:
    """Starts drivers, each in a process group of its own, as a shell would."""
    started = []

    def begin(*arguments: Any) -> None:
        os.setpgrp()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        work(*arguments)

    def start(*arguments: Any) -> Any:
        started.append(Process(target=begin, args=arguments))
        started[-1].start()
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.join()


@pytest.mark.slow
def test_workers_and_the_plain_loop_agree(whole: Whole, store: Store) -> None:
    found = compare(made.TASK, made.ENCODINGS, store=store.folder, workers=2, **made.SWEPT, **made.SETTINGS)
    assert told(found) == told(whole.comparison) and found.analysis.tasks
    assert outcomes(store) == outcomes(whole.store)
    for run in store.runs():
        assert log(run).count("started") == log(run).count("finished") == 1 and "continued" not in log(run)
        assert not (run.folder / "claim").exists()


@pytest.mark.usefixtures("forked")
def test_every_run_is_told_of(store: Store) -> None:
    events: list[Event] = []
    executor = Local(store, 2)
    carry_out(made.study(**FIXED), store, executor, events.append)
    executor.close()
    for config in runs_of(made.study(**FIXED), 2):
        kinds = [event.kind for event in events if event.config == config]
        assert kinds[0] == "started" and kinds[-1] == "done" and set(kinds[1:-1]) == {"progress"}
        steps = [event.progress.step for event in events if event.config == config and event.progress]
        assert steps == sorted(steps) and steps[-1] == config.steps


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_that_fails_is_kept_and_tried_again(workers: int, store: Store) -> None:
    asked = made.study(**FIXED)
    bad = store.run(runs_of(asked, 2)[2].id)
    bad.folder.mkdir(parents=True)
    (bad.folder / checkpoint.NAME).write_bytes(b"nonsense")
    settings = made.SETTINGS | {"lr": 0.01}
    first = compare(made.TASK, "rope,alibi", seeds=2, store=store.folder, workers=workers, **settings)
    assert list(first.failures) == [bad.id] and "is not a checkpoint of this program" in first.failures[bad.id]
    assert bad.state == "failed" and "Traceback" in (bad.folder / "error.txt").read_text()
    assert [alarm.sentence() for task in first.analysis.tasks for alarm in task.alarms if alarm.kind == "failed"] == [
        f"rope: 1 of 2 runs failed: {bad.error}"
    ]
    assert {run.state for run in first.runs if run.run != bad.id} == {"finished"}
    assert next(run for run in first.runs if run.run == bad.id).state == "failed"
    # Whoever looks at the store later finds the same.
    assert told(collect(StudyState(asked, store), first.command)) == told(first)

    (bad.folder / checkpoint.NAME).unlink()
    second = compare(made.TASK, "rope,alibi", seeds=2, store=store.folder, workers=workers, **settings)
    assert second.failures == {} and {run.state for run in second.runs} == {"finished"}
    assert not (bad.folder / "error.txt").exists()
    assert all(log(store.run(config.id)).count("started") == 1 for config in runs_of(asked, 2) if config.id != bad.id)


@pytest.mark.usefixtures("forked")
def test_two_drivers_share_a_store(store: Store, driver: Driver) -> None:
    both = [driver(store, FIXED, 2) for _ in range(2)]
    assert [ended(process) for process in both] == [0, 0]
    assert len(store.runs()) == 4
    for run in store.runs():
        assert log(run).count("started") == log(run).count("finished") == 1 and "continued" not in log(run)


@pytest.mark.usefixtures("forked")
def test_a_run_that_kills_its_workers_fails_alone(store: Store) -> None:
    configs = runs_of(made.study(**FIXED), 2)
    executor, events = Local(store, 2), []

    def watch(event: Event) -> None:
        events.append(event)
        if event.kind == "started" and event.config == configs[1]:
            next(w for w in executor.workers if w.config == configs[1]).process.kill()

    failures = executor.run(configs, watch)
    executor.close()
    assert failures == {configs[1].id: f"its process died {DEATHS} times (signal 9)"}
    assert sum(event.kind == "started" and event.config == configs[1] for event in events) == DEATHS
    assert [event.config for event in events if event.kind == "failed"] == [configs[1]]
    for config in configs:
        assert store.run(config.id).done == (config != configs[1])


@pytest.mark.usefixtures("forked")
def test_workers_that_die_while_idle_are_replaced(store: Store) -> None:
    config = runs_of(made.study(**FIXED), 1)[0]
    executor = Local(store, DEATHS + 1)
    executor.prepare()
    for worker in executor.workers:
        assert worker.messages() == [{"kind": "ready"}]
        worker.ready = True
        worker.process.kill()
        until(lambda pid=worker.process.pid: not alive(pid))
    assert executor.run([config], lambda event: None) == {}
    assert store.run(config.id).done
    executor.close()
    assert executor.workers == []


def test_workers_that_cannot_start_are_told_of(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shutil.which("false")
    assert program
    monkeypatch.setattr(sys, "executable", program)
    executor = Local(store, 1)
    with pytest.raises(InputError, match=r"a worker process cannot be started \(exit code 1\)"):
        executor.run(runs_of(made.study(**FIXED), 1), lambda event: None)
    assert executor.workers == []


def test_there_is_no_comparison_without_workers(store: Store) -> None:
    with pytest.raises(InputError, match=r"workers must be at least 0 .*, got -1"):
        Local(store, -1)


@pytest.mark.usefixtures("forked")
def test_an_error_of_the_watcher_ends_all(store: Store) -> None:
    configs, executor = runs_of(made.study(**FIXED), 1), Local(store, 2)
    pids: list[int] = []

    def watch(event: Event) -> None:
        pids.extend(worker.process.pid for worker in executor.workers)
        if event.kind == "progress":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        executor.run(configs, watch)
    assert pids and not any(alive(pid) for pid in pids) and executor.workers == []
    assert executor.run(configs, lambda event: None) == {}  # and the next call goes on
    executor.close()
    assert {run.state for run in store.runs()} == {"done"}


@pytest.mark.usefixtures("forked")
def test_one_interrupt_lets_running_runs_finish(store: Store, tmp_path: Path, driver: Driver) -> None:
    process = driver(store, FIXED | dict(seeds=8), 2, tmp_path / "note")
    until(lambda: owners(store))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    assert ended(process) == 0 and (tmp_path / "note").read_text() == "stopped"
    states = [run.state for run in store.runs()]
    assert set(states) == {"done"} and len(states) < 16
    assert all(log(run).count("started") == 1 and "continued" not in log(run) for run in store.runs())


@pytest.mark.usefixtures("forked")
def test_two_interrupts_end_running_runs(store: Store, tmp_path: Path, driver: Driver) -> None:
    process = driver(store, FIXED | dict(settings=LONG_RUN), 2, tmp_path / "note")
    pids = until(lambda: owners(store))
    for count in ("1", "2"):
        os.killpg(process.pid, signal.SIGINT)
        if count == "1":  # two that come at the same moment would be one
            until(lambda: (tmp_path / "note.stops").exists() and (tmp_path / "note.stops").read_text() == "1")
    assert ended(process) == 0 and (tmp_path / "note").read_text() == "stopped"
    assert not any(alive(pid) for pid in pids)
    assert {run.state for run in store.runs()} == {"interrupted"}


@pytest.mark.slow
def test_workers_do_not_outlive_their_driver(store: Store, driver: Driver) -> None:
    process = driver(store, FIXED | dict(settings=LONG_RUN), 1)
    (pid,) = until(lambda: owners(store))
    process.kill()
    process.join()
    until(lambda: not alive(pid), "the worker goes on without its driver")
    assert {run.state for run in store.runs()} == {"interrupted"}


@pytest.mark.slow
def test_another_thread_may_compare(store: Store) -> None:
    found: list[Comparison] = []
    settings = made.SETTINGS | {"lr": 0.01}

    def target() -> None:
        found.append(compare(made.TASK, "rope,alibi", seeds=1, store=store.folder, workers=1, **settings))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    assert {run.state for run in found[0].runs} == {"finished"} and found[0].failures == {}
    assert signal.getsignal(signal.SIGINT) == before


SCRIPT = """
import ordinate
print("once")
found = ordinate.compare({task!r}, "rope,alibi", seeds=1, store="runs", workers=1, **{settings!r})
print(len(found.runs), found.failures)
"""


@pytest.mark.slow
def test_a_script_needs_no_guard(store: Store, tmp_path: Path) -> None:
    """Nor does it matter what else lies where it is started."""
    script, place = tmp_path / "scripts" / "script.py", tmp_path / "place"
    script.parent.mkdir()
    place.mkdir()
    script.write_text(SCRIPT.format(task=made.TASK, settings=made.SETTINGS | {"lr": 0.01}))
    store.folder.rename(place / "runs")
    for name in ("random.py", "json.py", "torch.py", "ordinate.py"):
        (place / name).write_text("raise SystemExit('not meant to be imported')\n")
    done = subprocess.run([sys.executable, script], cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "once\n2 {}\n", "")


def test_what_a_killed_driver_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".driver.0123456789abcdef0123456789abcdef.tmp").write_bytes(b"{")
    with driving(tmp_path):
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "driver"]
