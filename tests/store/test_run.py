"""Who may do a run."""

import fcntl
import multiprocessing
import os
import socket
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ordinate import InputError
from ordinate.store import Run
from ordinate.store.files import write_json
from ordinate.store.run import SILENCE, started

fork = multiprocessing.get_context("fork")
HERE = socket.gethostname()


def hold(run: Run, pipe: Connection) -> None:
    """Claim a run, tell what came of it, and keep it until told to let go."""
    with run.claimed() as mine:
        pipe.send(mine)
        pipe.recv()


def taken(run: Run) -> bool:
    """Whether this process gets the run."""
    with run.claimed() as mine:
        return mine


def claim(run: Run, *, host: str = HERE, pid: int, started: str, beat: float = 0.0) -> None:
    """A claim as another process would have left it, with the last heartbeat so many seconds ago."""
    write_json(run.folder / "claim", {"host": host, "pid": pid, "started": started})
    run.beat()
    os.utime(run.folder / "heartbeat", (time.time() - beat,) * 2)


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
    (tmp_path / ".checkpoint.pt.0.tmp").touch()  # of somebody who died earlier still
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
    claim(run, pid=os.getpid(), started=started(os.getpid()))
    assert run.state == "running" and not taken(run)
    claim(run, pid=os.getpid(), started="1")
    assert run.state == "interrupted" and taken(run)


def test_the_dead_are_not_alive(tmp_path: Path) -> None:
    run, process = Run(tmp_path), fork.Process(target=int)
    process.start()
    process.join()
    for since in ("", "1"):
        claim(run, pid=process.pid, started=since)
        assert taken(run)


@pytest.mark.parametrize(("silence", "alive"), [(0, True), (SILENCE / 2, True), (SILENCE * 2, False)])
def test_on_another_machine_the_heartbeat_decides(tmp_path: Path, silence: float, alive: bool) -> None:
    run = Run(tmp_path)
    claim(run, host="elsewhere", pid=os.getpid(), started="1", beat=silence)
    assert run.state == ("running" if alive else "interrupted")
    assert taken(run) is not alive
    assert (tmp_path / "claim").exists() is alive  # let go again, or never touched


def test_a_claim_that_cannot_be_read_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "claim").write_text('{"host": ')
    assert taken(Run(tmp_path))


def test_a_done_run_is_given_to_nobody(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert taken(run)
    run.finish({"status": "finished"})
    assert run.state == "done" and not taken(run)
    assert run.result == {"schema": 1, "run": tmp_path.name, "status": "finished"}


def test_an_error_lets_go(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with pytest.raises(KeyboardInterrupt), run.claimed():
        raise KeyboardInterrupt
    assert not (tmp_path / "claim").exists()


def test_a_run_keeps_its_configuration(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.begin({"lengths": (8, 32)}, {"torch": "2"})
    run.begin({"lengths": (8, 32)}, {"torch": "3"})
    assert run.config == {"lengths": [8, 32]}
    with pytest.raises(InputError, match="another configuration"):
        run.begin({"lengths": (8, 33)}, {})
