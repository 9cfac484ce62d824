"""Runs on a Ray cluster: the same as one by one, whatever dies. Its nodes are raylets on this machine."""

import importlib.metadata
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import ordinate
from ordinate import InputError
from ordinate.store import Store
from ordinate.studies import worker_pool
from ordinate.studies.compare import carry_out, compare, make_executor, prepare
from ordinate.studies.executor import Event, Plain, StudyStopped
from ordinate.studies.plan import Study
from ordinate.studies.ray_cluster import RayCluster
from ordinate.studies.ray_connection import Connection
from ordinate.training import Progress, RunConfig, train
from ordinate.training.interruption import Interrupted

from . import made
from .conftest import Stores, Whole
from .processes import LONG, alive, log, outcomes, owner, until
from .test_local import FIXED, LONG_RUN, runs_of, told

pytestmark = pytest.mark.slow
MIDDLING: dict[str, Any] = dict(seeds=1, fixed=True, settings=dict(steps=400, budget="fixed"))  # two runs of a second


@pytest.fixture(autouse=True, scope="module")
def _private() -> Iterator[None]:
    """Ray sends nothing, writes no token into the home directory, and does not let other processes go first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_worker_niceness", "0")
        yield


def connected() -> bool:
    """Whether this process is; Ray is loaded by the first test that needs it."""
    return "ray" in sys.modules and sys.modules["ray"].is_initialized()


@pytest.fixture(scope="module")
def cluster(_private: None) -> Iterator[Any]:
    """A head with two CPUs."""
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args=dict(num_cpus=2, include_dashboard=False))
    yield started
    started.shutdown()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, known: Path) -> Store:
    """The runs of MIDDLING, one after the other in this process."""
    store = Store(tmp_path_factory.mktemp("plain"))
    (store.folder / "baselines").symlink_to(known)
    carry_out(made.study(**MIDDLING), store, Plain(store), lambda event: None)
    return store


def test_ray_and_the_plain_loop_agree(whole: Whole, store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    """On a cluster that is started for it, and gone afterwards."""
    before = signal.getsignal(signal.SIGTERM), os.environ.get("PYTHONPATH")
    found = compare(
        made.TASK, made.ENCODINGS, store=store.folder, workers=2, executor="ray", **made.SWEPT, **made.SETTINGS
    )
    assert told(found) == told(whole.comparison) and found.analysis.tasks
    assert outcomes(store) == outcomes(whole.store)
    for run in store.runs():
        assert log(run).count("started") == log(run).count("finished") == 1 and "continued" not in log(run)
    assert not connected() and capfd.readouterr() == ("", "")
    assert (signal.getsignal(signal.SIGTERM), os.environ.get("PYTHONPATH")) == before


def test_a_run_whose_process_is_killed_goes_on(
    cluster: Any, plain: Store, store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    study, killed, events = made.study(**MIDDLING), list[int](), list[Event]()
    executor = RayCluster(store, 1, address=cluster.address)

    def watch(event: Event) -> None:
        events.append(event)
        if event.kind == "progress" and not killed and (pid := owner(store.run(event.config.id))):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    carry_out(study, store, executor, watch)
    executor.close()
    assert outcomes(store) == outcomes(plain) and killed
    assert sorted(log(run).count("started") for run in store.runs()) == [1, 2]
    for config in runs_of(study, 1):
        kinds = [event.kind for event in events if event.config == config]
        assert kinds[0] == "started" and kinds[-1] == "done"
        steps = [event.progress.step for event in events if event.config == config and event.progress]
        assert steps[-1] == config.steps
    assert capfd.readouterr() == ("", "")


def make_ready(executor: RayCluster) -> None:
    executor.prepare()
    while not all(worker.ready for worker in executor.workers):
        for worker, message in executor.listen():
            assert message == {"kind": "ready"}
            worker.ready = True


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_node_that_dies_costs_its_run_and_nothing_else(
    cluster: Any, plain: Store, store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    """A worker with two CPUs has room on each node; the second one is killed when it reports progress."""
    node = cluster.add_node(num_cpus=2)
    (raylet,) = node.all_processes["raylet"]
    executor, removed = RayCluster(store, threads=2, address=cluster.address), list[str]()
    assert executor.workers_wanted == 2
    make_ready(executor)

    def watch(event: Event) -> None:
        pid = owner(store.run(event.config.id)) if event.kind == "progress" and not removed else None
        if pid and parent(pid) == raylet.process.pid:
            cluster.remove_node(node, allow_graceful=False)
            removed.append(event.config.id)

    carry_out(made.study(**MIDDLING), store, executor, watch)
    executor.close()
    assert outcomes(store) == outcomes(plain)
    assert {run.id: log(run).count("started") for run in store.runs()} == {
        config.id: 1 + (config.id in removed) for config in runs_of(made.study(**MIDDLING), 1)
    }
    assert len(removed) == 1 and capfd.readouterr() == ("", "")


def test_a_run_that_kills_its_worker_fails_alone(cluster: Any, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its first death: deaths are counted as those of processes on this machine are."""
    monkeypatch.setattr(worker_pool, "DEATHS", 1)
    configs, executor = runs_of(made.study(**MIDDLING), 1), RayCluster(store, 1, address=cluster.address)

    def watch(event: Event) -> None:
        if event.config == configs[0] and (pid := owner(store.run(event.config.id))):
            os.kill(pid, signal.SIGKILL)

    failures = executor.run(configs, watch)
    executor.close()
    assert list(failures) == [configs[0].id] and "its process died 1 times (" in failures[configs[0].id]
    assert store.run(configs[1].id).done and store.run(configs[0].id).state == "failed"


SCRIPT = """
from pathlib import Path
from ordinate.store import Store
from ordinate.studies.compare import carry_out
from ordinate.studies.executor import Plain
from ordinate.studies.plan import plan
store = Store(Path({folder!r}))
study = plan({task!r}, "rope,alibi", settings={settings!r}, seeds=1)
carry_out(study, store, Plain(store), lambda event: print(event.kind, flush=True))
"""


def test_a_driver_without_ray_and_one_with_it_share_a_store(cluster: Any, plain: Store, store: Store) -> None:
    settings = made.SETTINGS | {"lr": 0.01} | MIDDLING["settings"]
    code = SCRIPT.format(folder=str(store.folder), task=made.TASK, settings=settings)
    executor = RayCluster(store, 1, address=cluster.address)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        make_ready(executor)
        assert other.stdout is not None and other.stdout.readline() == "started\n"
        carry_out(made.study(**MIDDLING), store, executor, lambda event: None)
        executor.close()
        assert other.wait(LONG) == 0
    assert outcomes(store) == outcomes(plain)
    assert all(log(run).count("started") == 1 and "continued" not in log(run) for run in store.runs())


def interrupted(config: RunConfig, store: Store, step: int) -> None:
    """A run with a checkpoint at a step."""
    at: list[int] = []

    def watch(progress: Progress) -> None:
        at.append(progress.step)

    with pytest.raises(Interrupted):
        train(config, store, watch, lambda: bool(at) and at[-1] >= step)


def test_an_interrupted_comparison_is_resumed_from_its_checkpoints(cluster: Any, plain: Store, store: Store) -> None:
    """One Ctrl-C lets the run under way end; the next command begins with the checkpoint of another."""
    configs = runs_of(made.study(**MIDDLING), 1)
    interrupted(configs[1], store, 100)
    executor = RayCluster(store, 1, address=cluster.address)

    def watch(event: Event) -> None:
        if event.kind == "progress" and not executor.stopping:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(StudyStopped):
        executor.run(configs, watch)
    assert [store.run(config.id).done for config in configs] == [True, False]
    assert not connected()

    again = RayCluster(store, 1, address=cluster.address)
    carry_out(made.study(**MIDDLING), store, again, lambda event: None)
    again.close()
    assert outcomes(store) == outcomes(plain)
    assert "continued at step 100" in log(store.run(configs[1].id))
    assert all(log(store.run(config.id)).count("started") == 1 for config in configs)


def test_a_second_interrupt_ends_running_runs(cluster: Any, store: Store) -> None:
    configs = runs_of(made.study(**FIXED | dict(settings=LONG_RUN)), 1)[:1]
    executor, pids = RayCluster(store, 1, address=cluster.address), list[int]()

    def watch(event: Event) -> None:
        if event.kind == "progress" and (pid := owner(store.run(event.config.id))):
            pids.append(pid)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(StudyStopped):
        executor.run(configs, watch)
    until(lambda: not any(alive(pid) for pid in pids))
    assert {store.run(config.id).state for config in configs} == {"interrupted"}


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize(
    ("name", "workers", "address", "sentence"),
    [
        ("rey", None, None, r"unknown executor 'rey': did you mean ray\?"),
        ("local", None, "10.0.0.1:6379", "--address 10.0.0.1:6379 is of a Ray cluster: add --executor ray"),
        ("ray", 0, None, "--workers 0 does all runs in this process: leave it out, or leave out --executor ray"),
        ("ray", -1, None, "workers must be at least 0 .*, got -1"),
        ("ray", 10_000, None, r"10000 workers with 1 CPU each do not fit: Ray has CPUs for \d+, choose fewer"),
        ("ray", None, "ray://10.0.0.1:10001", "--address wants HOST:PORT of a Ray cluster's head, or auto, got 'ray:"),
        ("ray", None, "nowhere", "--address wants HOST:PORT of a Ray cluster's head, or auto, got 'nowhere'"),
        ("ray", None, "nowhere.invalid:6379", r"there is no Ray cluster at nowhere.invalid:6379 \(.+\): start one"),
        ("ray", None, "127.0.0.1:0", "there is no Ray cluster at 127.0.0.1:0"),
        ("ray", None, "127.0.0.1:99999", "there is no Ray cluster at 127.0.0.1:99999"),
    ],
)  # fmt: skip
def test_a_cluster_that_cannot_be_had_is_one_sentence(
    name: str, workers: int | None, address: str | None, sentence: str, store: Store
) -> None:
    with pytest.raises(InputError, match=f"^{sentence}"):
        make_executor(name, store, workers, 1, address)
    assert not connected()


class Page(BaseHTTPRequestHandler):
    def log_message(self, *words: Any) -> None:
        pass


def test_another_server_is_no_cluster(store: Store) -> None:
    with pytest.raises(InputError, match=r"there is no Ray cluster at .* \(Connection refused\): start one with"):
        RayCluster(store, address=f"127.0.0.1:{unused_port()}")
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(InputError, match=r"what answers at .* is not a Ray cluster: give the address that"):
            RayCluster(store, address=f"127.0.0.1:{server.server_port}")
        thread.join()


def test_more_workers_than_the_cluster_has_cpus(cluster: Any, store: Store) -> None:
    for workers, threads, sentence in [
        (3, 1, "3 workers with 1 CPU each do not fit: Ray has CPUs for 2, choose fewer with --workers"),
        (None, 3, "1 workers with 3 CPUs each do not fit: Ray has CPUs for 0, add nodes"),
    ]:
        with pytest.raises(InputError, match=sentence):
            RayCluster(store, workers, threads, cluster.address)
        assert not connected()
    executor = RayCluster(store, threads=2, address=cluster.address)
    assert executor.workers_wanted == 1
    executor.close()


def refuse(cluster: Any, store: Store, study: Study, sentence: str) -> None:
    executor = RayCluster(store, 1, address=cluster.address)
    with pytest.raises(InputError, match=sentence):
        executor.run(runs_of(study, 1), lambda event: None)
    assert not connected() and {path.name for path in store.folder.iterdir()} == {"baselines"}


def test_nodes_that_would_give_other_results_are_refused(
    cluster: Any, new_store: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process takes itself for another version, or sees a file that nodes do not see."""
    study, version = made.study(**FIXED), importlib.metadata.version
    with monkeypatch.context() as patch:
        patch.setattr(ordinate, "__version__", "9.9.9")
        fix = "install the same versions on every node"
        refuse(cluster, new_store("a"), study, rf"^node .* has ordinate 0\.\S+ \(\w+\), this machine 9\.9\.9 .*: {fix}")
    with monkeypatch.context() as patch:
        patch.setattr(importlib.metadata, "version", lambda name: "1.2.3" if name == "torch" else version(name))
        refuse(cluster, new_store("b"), study, r"^node .* has torch 2\.\S+, this machine 1\.2\.3: install the same")
    ask = Connection._inspect

    def unseen(self: Connection, nodes: Any, probe: str) -> Any:
        Path(probe).unlink()
        return ask(self, nodes, probe)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "_inspect", unseen)
        refuse(cluster, new_store("c"), study, r"^node .* does not see the store /.*/c: choose a folder that all nodes")


def test_a_connection_of_the_callers_own_is_kept(cluster: Any, store: Store) -> None:
    import ray

    ray.init(cluster.address, log_to_driver=False, logging_level="error")
    try:
        settings = made.SETTINGS | {"lr": 0.01}
        with pytest.raises(InputError, match="Ray is connected already: give address='auto'"):
            compare(made.TASK, "rope,alibi", seeds=1, store=store.folder, executor="ray", **settings)
        found = compare(
            made.TASK, "rope,alibi", seeds=1, store=store.folder, workers=1, executor="ray", address="auto", **settings
        )
        assert {run.state for run in found.runs} == {"finished"} and connected()
    finally:
        ray.shutdown()


def test_an_executor_that_is_given_is_used_as_it_is(store: Store) -> None:
    """Comparisons of one study join a cluster once, however its address is spelled."""
    executor, settings = Plain(store), made.SETTINGS | {"lr": 0.01}
    job = prepare(made.TASK, "rope,alibi", seeds=1, store=store.folder, executor=executor, settings=settings)
    assert job.executor is executor


def test_ray_is_loaded_only_if_it_is_asked_for() -> None:
    code = "import sys, ordinate.studies.compare, ordinate.cli.compare; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
