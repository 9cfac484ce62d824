"""A run that was killed, at whatever moment and however often, ends as if nothing had happened: to the bit."""

import json
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError
from ordinate.store import Run, Store
from ordinate.store.files import Journal
from ordinate.store.holder import Holder
from ordinate.training import Progress, RunConfig, attempt, checkpoint, optimizer, train, trainer
from ordinate.training.interruption import Interrupted

from .runs import Process, outcome, small

MODES: dict[str, dict[str, Any]] = {
    "fresh batches": {},
    "fixed dataset": dict(dataset=90, budget="fixed", schedule="linear"),
    "randomized positions": dict(coverage="randomized", position_limit=24, coverage_draws=2, optimizer="adam"),
    "until learned": dict(task="binary_majority", train_lengths=[3, 5], ood_lengths=[7], dropout=0.1),
    "fixed budget": dict(budget="fixed", coverage="offset"),
}


@pytest.fixture
def checked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that tiny runs are found to have learned their task, and end before their budget."""
    monkeypatch.setattr(trainer, "check_every", lambda config, task: 5)
    monkeypatch.setattr(optimizer, "LEAST", 10)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.usefixtures("checked_often")
@pytest.mark.parametrize("mode", MODES)
def test_killed_at_random_moments(mode: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kills = (4 if mode == "fresh batches" else 1) * (1 if request.config.getoption("sample") else 2)
    config, moments = small(steps=60, **MODES[mode]), random.Random(mode)
    stores = (Store(tmp_path / str(number)) for number in count())
    expected = outcome(train(config, next(stores)))
    assert (expected["result"]["steps"] < 60) is (mode == "until learned")
    begin, store = time.monotonic(), next(stores)
    train(config, store)
    seconds = time.monotonic() - begin
    while kills:
        if store.run(config.id).done:
            assert outcome(store.run(config.id)) == expected
            store = next(stores)
        process = Process(target=train, args=(config, store), daemon=True)
        process.start()
        process.join(moments.uniform(0, seconds))
        process.kill()
        process.join()
        kills -= process.exitcode == -signal.SIGKILL
    assert outcome(train(config, store)) == expected


def around(call: str, number: int, when: str) -> Callable[[], None]:
    """Makes a process die before or after one of its calls of a function of `os`."""

    def prepare() -> None:
        real, calls = getattr(os, call), count(1)

        def fatal(*arguments: Any) -> None:
            now = next(calls) == number
            if now and when == "before":
                die()
            real(*arguments)
            if now:
                die()

        setattr(os, call, fatal)

    return prepare


def in_a_record(number: int) -> Callable[[], None]:
    """Makes a process die when half of what it adds to the journal is written."""

    def prepare() -> None:
        real, calls = Journal.append, count(1)

        def fatal(self: Journal, records: list[dict[str, Any]]) -> int:
            size = real(self, records)
            if next(calls) == number:
                os.truncate(self.path, size - 20)
                die()
            return size

        Journal.append = fatal  # type: ignore[method-assign]

    return prepare


def killed(prepare: Callable[[], None], config: RunConfig, store: Store) -> bool:
    """Do a run in a process prepared to die, and tell whether it did."""

    def work() -> None:
        prepare()
        train(config, store)

    process = Process(target=work, daemon=True)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


@pytest.fixture
def saved_in_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "SAVE_EVERY", -1.0)


@pytest.mark.slow
@pytest.mark.usefixtures("saved_in_every_step")
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_before_or_after_any_rename(when: str, tmp_path: Path) -> None:
    """Claim, configuration, environment, checkpoints, weights, maps, baselines and, last, the result."""
    config = small(steps=2)
    expected = outcome(train(config, Store(tmp_path / "whole")))
    for number in count(1):
        store = Store(tmp_path / str(number))
        if not killed(around("replace", number, when), config, store):
            break
        run = store.run(config.id)
        assert run.state in ("done", "interrupted")
        assert outcome(train(config, store)) == expected
    assert number == 12  # nine files of the run, and the baselines of two lengths


@pytest.mark.usefixtures("saved_in_every_step", "checked_often")
@pytest.mark.parametrize("number", [4, 5, 6, 8, 11, 30])
def test_killed_before_a_write_has_reached_the_disk(number: int, tmp_path: Path) -> None:
    config = small(**MODES["until learned"])
    expected = outcome(train(config, Store(tmp_path / "whole")))
    store = Store(tmp_path / "killed")
    assert killed(around("fsync", number, "before"), config, store)
    assert outcome(train(config, store)) == expected


@pytest.mark.parametrize("number", [1, 2, 13])
def test_killed_within_a_record(number: int, tmp_path: Path) -> None:
    config = small()
    expected = outcome(train(config, Store(tmp_path / "whole")))
    store = Store(tmp_path / "killed")
    assert killed(in_a_record(number), config, store)
    run = store.run(config.id)
    assert not run.journal.path.read_bytes().endswith(b"\n")
    assert run.step <= max(0, number - 1)  # readers are not disturbed
    assert outcome(train(config, store)) == expected


@pytest.mark.usefixtures("saved_in_every_step")
def test_interrupted_by_its_watcher_it_goes_on(tmp_path: Path) -> None:
    """Ctrl-C, or an error in the display, frees the run at once."""
    config = small()
    expected = outcome(train(config, Store(tmp_path / "whole")))
    store, steps = Store(tmp_path / "interrupted"), []

    def watch(progress: Progress) -> None:
        steps.append(progress.step)
        if len(steps) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, store, watch)
    run = store.run(config.id)
    assert run.state == "interrupted" and not (run.folder / "claim").exists()
    assert outcome(train(config, store, watch)) == expected
    assert steps == [*range(1, 10), *range(9, 21), 20]  # step 9 was not saved yet; scoring comes last


def test_a_requested_stop_keeps_the_step_under_way(tmp_path: Path) -> None:
    """As Ctrl-C requests it; in training, and once more when only scoring is left."""
    config, store, calls = small(), Store(tmp_path / "stopped"), count(1)
    with pytest.raises(Interrupted, match="holds step 9 of 20"):
        train(config, store, stop=lambda: next(calls) == 9)
    with pytest.raises(Interrupted, match="holds step 20 of 20"):
        train(config, store, stop=lambda: next(calls) == 9 + 12)
    assert store.run(config.id).state == "interrupted"
    assert outcome(train(config, store)) == outcome(train(config, Store(tmp_path / "whole")))


def test_two_processes_do_a_run_once(tmp_path: Path) -> None:
    config, store = small(), Store(tmp_path)

    def work(name: str) -> None:
        (tmp_path / name).write_text(str(train(config, store).result))

    both = [Process(target=work, args=(name,), daemon=True) for name in ("one", "two")]
    for process in both:
        process.start()
    for process in both:
        process.join()
    run = store.run(config.id)
    log = (run.folder / "log.txt").read_text()
    assert log.count("started") == log.count("finished") == 1 and "continued" not in log
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text() == str(run.result)


def interrupted(config: RunConfig, store: Store) -> Run:
    """A run with a checkpoint and no result."""
    stopped(config, store, 4)
    return store.run(config.id)


def stopped(config: RunConfig, store: Store, step: int) -> None:
    """Do a run that saves in every step until that step is done, but not saved."""

    def stop(progress: Progress) -> None:
        if progress.step == step:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "SAVE_EVERY", -1.0)
        with pytest.raises(KeyboardInterrupt):
            train(config, store, stop)


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one, two = (interrupted(small(seed=seed), store) for seed in (0, 1))
    before = (two.folder / checkpoint.NAME).read_bytes()
    (two.folder / checkpoint.NAME).write_bytes((one.folder / checkpoint.NAME).read_bytes())
    with pytest.raises(InputError, match="belongs to another configuration than run"):
        train(small(seed=1), store)
    (two.folder / checkpoint.NAME).write_bytes(before[: len(before) // 2])
    with pytest.raises(InputError, match="is not a checkpoint of this program"):
        train(small(seed=1), store)
    assert two.state == "failed" and "is not a checkpoint" in two.error


def test_a_folder_of_another_configuration_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = interrupted(small(), store)
    text = (run.folder / "config.json").read_text()
    (run.folder / "config.json").write_text(text.replace('"batch": 8', '"batch": 9'))
    with pytest.raises(InputError, match="another configuration"):
        train(small(), store)


def test_a_checkpoint_holds_no_code(tmp_path: Path) -> None:
    run = interrupted(small(), Store(tmp_path))
    (run.folder / checkpoint.NAME).write_bytes(b"cos\nsystem\n(S'touch /tmp/never'\ntR.")
    with pytest.raises(InputError, match="is not a checkpoint"):
        train(small(), Store(tmp_path))


def test_a_damaged_journal_is_noticed_before_anything_is_trained(tmp_path: Path) -> None:
    run, steps = interrupted(small(), Store(tmp_path)), []
    whole = run.journal.path.read_bytes()
    for garbage in (b"x", b"[]", b'{"step": "1"}'):
        line, _, rest = whole.partition(b"\n")
        run.journal.path.write_bytes(garbage.ljust(len(line)) + b"\n" + rest)
        with pytest.raises(InputError, match=r"metrics.jsonl is damaged \(not what its checkpoint goes with\)"):
            train(small(), Store(tmp_path), lambda progress: steps.append(progress.step))
    assert steps == []


@pytest.mark.usefixtures("saved_in_every_step")
@pytest.mark.parametrize("last", [7, 20])
def test_who_was_silent_for_too_long_leaves_the_run_to_whoever_took_it_over(
    tmp_path: Path, last: int, caplog: pytest.LogCaptureFixture
) -> None:
    """In the middle, or when all that is left to write is the result."""
    config, store = small(), Store(tmp_path / "shared")
    expected = outcome(train(config, Store(tmp_path / "whole")))
    run = store.run(config.id)
    other = json.dumps(asdict(Holder(1, "theirs", "1", "elsewhere", "another boot", "another namespace")))
    before: list[bytes] = []

    def watch(progress: Progress) -> None:
        if progress.step == last and not before:
            (run.folder / "claim").unlink()
            (run.folder / "claim").write_text(other)
            before.append(run.journal.path.read_bytes())

    assert not attempt(config, store, watch)
    assert run.state == "running" and run.claim.holder.host == "elsewhere"
    assert run.journal.path.read_bytes() == before[0] and run.error == ""
    told = f"{run.folder} was taken over by a process on elsewhere: this process stops working on it"
    assert told in (run.folder / "log.txt").read_text() and told in caplog.text
    (run.folder / "claim").unlink()
    assert outcome(train(config, store)) == expected
