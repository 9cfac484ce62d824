"""Who may do a run."""

import fcntl
import json
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.store.test_results import RESULT

from ordinate import InputError
from ordinate.results.run_result import Machine, RunResult
from ordinate.results.serialize import read, write
from ordinate.store import Run, claim
from ordinate.store.claim import SILENCE, LostClaimError
from ordinate.store.files import write_json
from ordinate.store.holder import Holder, started

fork = multiprocessing.get_context("fork")
MACHINE = Machine("0.1", "3.11", "2", "2.0", "Linux", "a processor", 2, 1, None)
OTHER = replace(MACHINE, torch="3")
HERE = Holder(os.getpid(), "theirs", started(os.getpid()))
ELSEWHERE = {
    "another machine": replace(HERE, host="elsewhere", boot="other", namespace="other"),
    "another container of this machine": replace(HERE, namespace="pid:[1]"),
    "this machine before it was started again": replace(HERE, boot="other"),
}


def hold(run: Run, pipe: Connection) -> None:
    """Claim a run, print the outcome, and hold it until signaled to release it."""
    with run.claimed() as mine:
        pipe.send(mine)
        pipe.recv()


def taken(run: Run) -> bool:
    """Whether this process gets the run."""
    with run.claimed() as mine:
        return mine


def hold_as(run: Run, holder: Holder, *, silence: float = 0.0) -> None:
    """A claim as another process would have left it, with the last heartbeat so many seconds ago."""
    write_json(run.folder / "claim", asdict(holder))
    os.utime(run.folder / "claim", (time.time() - silence,) * 2)


def test_one_of_many_gets_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    pipes = [fork.Pipe() for _ in range(6)]
    processes = [fork.Process(target=hold, args=(run, theirs), daemon=True) for _, theirs in pipes]
    for process in processes:
        process.start()
    assert sorted(ours.recv() for ours, _ in pipes) == [False] * 5 + [True]
    assert run.state == "running" and not taken(run)
    for ours, _ in pipes:
        ours.send("let go")
    for process in processes:
        process.join()
    assert run.state == "interrupted" and taken(run)


def test_nobody_claims_while_another_one_looks(tmp_path: Path) -> None:
    run, (ours, theirs) = Run(tmp_path), fork.Pipe()
    with open(tmp_path / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = fork.Process(target=hold, args=(run, theirs), daemon=True)
        process.start()
        assert not ours.poll(0.3)
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert ours.recv()
    ours.send("let go")
    process.join()


def test_whoever_is_killed_loses_it_even_as_a_zombie(tmp_path: Path) -> None:
    run, (ours, theirs) = Run(tmp_path), fork.Pipe()
    (tmp_path / ".checkpoint.pt.0.tmp").touch()  # of a process that died even earlier
    process = fork.Process(target=hold, args=(run, theirs), daemon=True)
    process.start()
    assert ours.recv() and not taken(run)
    assert not list(tmp_path.glob(".*.tmp"))
    os.kill(process.pid, 9)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, but not buried
    assert Path(f"/proc/{process.pid}").exists()
    assert run.state == "interrupted" and taken(run)
    process.join()


def test_a_number_used_again_is_not_its_former_owner(tmp_path: Path) -> None:
    run = Run(tmp_path)
    hold_as(run, HERE, silence=10 * SILENCE)  # its process can be seen: silence means nothing
    assert run.state == "running" and not taken(run)
    hold_as(run, replace(HERE, started="1"))
    assert run.state == "interrupted" and taken(run)


def test_the_dead_are_not_alive(tmp_path: Path) -> None:
    run, process = Run(tmp_path), fork.Process(target=int)
    process.start()
    process.join()
    for since in ("", "1"):
        hold_as(run, replace(HERE, pid=process.pid, started=since))
        assert taken(run)


@pytest.mark.parametrize(("silence", "alive"), [(0, True), (SILENCE / 4, True), (SILENCE * 2, False)])
@pytest.mark.parametrize("place", ELSEWHERE)
def test_of_a_process_that_cannot_be_seen_the_heartbeat_decides(
    tmp_path: Path, place: str, silence: float, alive: bool
) -> None:
    """Though a process of its number is here, and started when it did."""
    run = Run(tmp_path)
    hold_as(run, ELSEWHERE[place], silence=silence)
    assert run.state == ("running" if alive else "interrupted") and run.busy() is alive
    assert taken(run) is not alive
    assert (tmp_path / "claim").exists() is alive  # let go again, or never touched


def test_a_heartbeat_of_the_future_is_waited_for_no_longer_than_any_other(tmp_path: Path) -> None:
    """A live holder renews it; a dead one sent its last when a process first waited for it."""
    run = Run(tmp_path)
    hold_as(run, ELSEWHERE["another machine"], silence=-1e6)
    assert not taken(run)
    beat = (tmp_path / "claim").stat().st_mtime
    assert beat <= time.time()
    os.utime(tmp_path / "claim", (beat - 2 * SILENCE,) * 2)  # that much later
    assert not run.busy() and taken(run)


def test_the_heart_beats_while_the_process_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "BEAT", 0.01)
    run, path = Run(tmp_path), tmp_path / "claim"
    with run.claimed():
        for _ in range(2):
            os.utime(path, (1, 1))
            while path.stat().st_mtime < 2:
                time.sleep(0.01)
        other = path.read_bytes()
        path.unlink()
        path.write_bytes(other.replace(run.claim.token.encode(), b"another"))
        os.utime(path, (1, 1))
        time.sleep(0.05)
        assert path.stat().st_mtime == 1  # the process that took over has its own heartbeat


def test_who_has_lost_a_run_writes_nothing_more(tmp_path: Path) -> None:
    run, result = Run(tmp_path), read(RunResult, RESULT, "result")
    with run.claimed():
        run.begin({}, MACHINE)
        before = {path.name for path in tmp_path.iterdir()}
        hold_as(run, ELSEWHERE["another machine"])
        for attempt in (
            lambda: run.finish(result), lambda: run.write("model.safetensors", b""), lambda: run.begin({}, MACHINE),
            lambda: run.writing().__enter__(),
        ):  # fmt: skip
            with pytest.raises(LostClaimError, match="was taken over by a process on elsewhere: this process stops"):
                attempt()
        run.fail("an error of mine")
    assert {path.name for path in tmp_path.iterdir()} == before and run.state == "running"
    with pytest.raises(LostClaimError, match="is no longer claimed"):
        Run(tmp_path / "never claimed").finish(result)


@pytest.mark.parametrize("link", [".lock", "metrics.jsonl", "log.txt"])
def test_what_a_link_leads_to_is_left_alone(tmp_path: Path, link: str) -> None:
    run, victim = Run(tmp_path / "run"), tmp_path / "victim"
    run.folder.mkdir()
    victim.write_text("precious")
    (run.folder / link).symlink_to(victim)

    def work() -> None:
        with run.claimed(), run.writing():
            run.log("a line")
            run.journal.append([{}])
            run.journal.cut(0)

    with pytest.raises(InputError, match="is a link, which is not followed: move it away"):
        work()
    assert victim.read_text() == "precious"


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    run = Run(tmp_path / "run")
    with pytest.raises(InputError, match="run is a link, which is not followed: move it away"):
        taken(run)
    with pytest.raises(InputError, match="is a link"):
        _ = run.config
    assert os.listdir(tmp_path / "elsewhere") == []


CONTAINER = """
import sys
from pathlib import Path
from ordinate.store import Run
with Run(Path(sys.argv[1])).claimed() as mine:
    print(mine, flush=True)
    sys.stdin.read()
"""


def test_two_containers_do_not_take_each_others_runs(tmp_path: Path) -> None:
    """Both have a process 1 on a machine of one name; neither sees the other's."""
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make process namespaces")
    command = [*inside, sys.executable, "-c", CONTAINER, str(tmp_path)]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with subprocess.Popen(command, **pipes) as one:  # type: ignore[call-overload]
        assert one.stdout.readline() == "True\n"
        assert subprocess.run(command, capture_output=True, text=True, check=True, input="").stdout == "False\n"
        assert Run(tmp_path).state == "running" and not taken(Run(tmp_path))
        one.stdin.close()
    assert taken(Run(tmp_path))


def test_a_claim_that_cannot_be_read_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "claim").write_text('{"host": ')
    assert taken(Run(tmp_path))


def test_a_done_run_is_given_to_nobody(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with run.claimed():
        run.finish(read(RunResult, RESULT | {"run": run.id}, "result"))
    assert run.state == "done" and not taken(run)
    assert write(run.result) == RESULT | {"run": run.id, "files": {}}


def test_what_is_left_beside_a_result_is_cleared_away(tmp_path: Path) -> None:
    """Of a process that was killed after writing it; not of one that is about to clean up."""
    run = Run(tmp_path)
    for name in ("result.json", "checkpoint.pt", ".result.json.0.tmp", "model.safetensors"):
        (tmp_path / name).touch()
    hold_as(run, HERE)
    run.tidy()
    assert (tmp_path / "checkpoint.pt").exists()
    hold_as(run, replace(HERE, started="1"))
    run.tidy()
    assert sorted(os.listdir(tmp_path)) == [".lock", "model.safetensors", "result.json"]


def test_a_folder_is_moved_when_nobody_is_at_work_in_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    with run.claimed():
        assert not run.claim.move(run.folder, tmp_path / "run-1") and run.folder.exists()
    assert run.claim.move(run.folder, tmp_path / "run-1") and not run.folder.exists()
    assert (tmp_path / "run-1").is_dir() and taken(run)


def test_who_waited_for_a_run_that_was_set_aside_gets_a_new_one(tmp_path: Path) -> None:
    run, (ours, theirs) = Run(tmp_path / "run"), fork.Pipe()
    run.folder.mkdir()
    with open(run.folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = fork.Process(target=hold, args=(run, theirs), daemon=True)
        process.start()
        assert not ours.poll(0.2)
        os.rename(run.folder, tmp_path / "aside")
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert ours.recv() and (run.folder / "claim").exists()
    ours.send("let go")
    process.join()
    assert os.listdir(tmp_path / "aside") == [".lock"]


def test_an_error_lets_go(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with pytest.raises(KeyboardInterrupt), run.claimed():
        raise KeyboardInterrupt
    assert not (tmp_path / "claim").exists()


def test_a_run_keeps_its_configuration(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    with run.claimed():
        run.begin({"lengths": (8, 32)}, MACHINE)
        run.begin({"lengths": (8, 32)}, OTHER)
        assert json.loads((run.folder / "config.json").read_text()) == {"lengths": [8, 32]}
        assert run.machine == MACHINE
        with pytest.raises(InputError, match="another configuration"):
            run.begin({"lengths": (8, 33)}, MACHINE)
        (run.folder / "env.json").write_text("{")
        run.begin({"lengths": (8, 32)}, OTHER)
        assert run.machine == OTHER
