"""A connection to a Ray cluster: to the one at an address, or to one that is started on this machine meanwhile."""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import uuid4

from ordinate.core.errors import InputError, error_text
from ordinate.core.extras import optional
from ordinate.store import Store
from ordinate.studies import ray_actor

REACH = 5.0  # seconds in which the head of a cluster must answer
ANSWER = 120.0  # seconds in which a node must answer; its first process takes a few
OBJECTS = 100_000_000  # bytes that nodes share for large objects, of which there are none
# Of a cluster on this machine: workers run at the priority of the driver and see the devices that it sees.
LIKE_DRIVER = {"RAY_worker_niceness": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # with empty settings, RFC 9113


class Node(NamedTuple):
    id: str
    name: str
    cpus: float


class Connection:
    """`ray` is the package, connected."""

    def __init__(self, address: str | None, cpus: int) -> None:
        """Without an address, a cluster with so many CPUs is started on this machine."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray is imported
        self.ray, self.local = optional("ray"), address is None
        self.checked: set[str] = set()  # nodes
        self.found_connected = self.ray.is_initialized()  # by the program that uses this one, and left so
        self.terminate = signal.getsignal(signal.SIGTERM)  # Ray sets its own
        if self.found_connected:
            if address not in ("auto", self.ray.get_runtime_context().gcs_address):
                raise InputError(f"Ray is connected already: give address='auto' to use that cluster, got {address!r}")
        elif address is None:
            with _environment(PYTHONPATH=os.pathsep.join(sys.path), **LIKE_DRIVER):
                self._connect(
                    "local", "start Ray", num_cpus=cpus, include_dashboard=False, object_store_memory=OBJECTS,
                    _node_ip_address="127.0.0.1",
                )  # fmt: skip
        else:
            if address != "auto":
                _check_address(address)
            self._connect(address, f"join the Ray cluster at {address}")

    def _connect(self, address: str, what: str, **options: Any) -> None:
        self._print_events(False)
        try:
            self.ray.init(
                address, namespace="ordinate", log_to_driver=False, logging_level=logging.ERROR, **options
            )  # fmt: skip
        except Exception as error:  # of many types, a mere RuntimeError among them
            self.close()
            why = error_text(error.__cause__ or error)
            if "AuthToken" in why:
                why = "it wants a token, which RAY_AUTH_MODE=token makes Ray send (ray get-auth-token shows it)"
            raise InputError(f"cannot {what}: {why}") from error

    @property
    def path(self) -> list[str]:
        """Where processes on this machine search for modules; other machines have their own folders."""
        return list(sys.path) if self.local else []

    @property
    def nodes(self) -> list[Node]:
        found = (node for node in self.ray.nodes() if node["Alive"])
        return [
            Node(node["NodeID"], f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})",
                 node["Resources"].get("CPU", 0.0))
            for node in found
        ]  # fmt: skip

    def room(self, threads: int) -> int:
        """For how many workers there are CPUs."""
        return sum(int(node.cpus // threads) for node in self.nodes)

    def check_nodes(self, store: Store, threads: int) -> None:
        """Refuse nodes on which a run would end differently, or somewhere else. Each is asked once."""
        new = [node for node in self.nodes if node.id not in self.checked and node.cpus >= threads]
        if self.local or not new:
            return
        probe = store.folder.absolute() / f".probe.{uuid4().hex}"
        probe.write_text(probe.name)
        try:
            here, there = ray_actor.inspect_node(str(probe), []), self._inspect(new, str(probe))
        finally:
            probe.unlink(missing_ok=True)
        for node, found in there.items():
            for what in ("Python", "torch", "ordinate"):
                if found[what] != here[what]:
                    has = f"has {what} {found[what]}" if found[what] else f"has no {what}"
                    fix = "install the same versions on every node"
                    raise InputError(f"node {node.name} {has}, this machine {here[what]}: {fix}")
            if found["store"] != here["store"]:
                fix = "choose a folder that all nodes share, with --store"
                raise InputError(f"node {node.name} does not see the store {store.folder.absolute()}: {fix}")
            self.checked.add(node.id)

    def _inspect(self, nodes: list[Node], probe: str) -> dict[Node, dict[str, str]]:
        """What each node finds; a node that dies meanwhile gets no run."""
        on = optional("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        asked = {}
        for node in nodes:
            place = on(node.id, soft=False)
            task = self.remote(ray_actor.inspect_node, num_cpus=0, max_retries=0, scheduling_strategy=place)
            asked[node] = task.remote(probe, self.path)
        found, end = {}, time.monotonic() + ANSWER
        for node, answer in asked.items():
            try:
                found[node] = self.ray.get(answer, timeout=max(0.0, end - time.monotonic()))
            except self.ray.exceptions.GetTimeoutError:
                raise InputError(f"node {node.name} did not answer for {ANSWER:.0f} seconds: remove it") from None
            except self.ray.exceptions.RayError as error:
                if node.id in {alive.id for alive in self.nodes}:
                    raise InputError(f"node {node.name} cannot start a process: {error_text(error)}") from error
        return found

    def remote(self, code: Any, **options: Any) -> Any:
        """A class or function of `ray_actor` that runs on nodes, to which its source is sent."""
        self.ray.cloudpickle.register_pickle_by_value(ray_actor)
        return self.ray.remote(**options)(code)

    def _print_events(self, shown: bool) -> None:
        """Whether Ray prints that a process or a node died to standard output, which may be a JSON document."""
        optional("ray._private.worker")._worker_logs_enabled = shown  # no public setting leads there

    def close(self) -> None:
        """Leave the cluster. One that was started for this connection ends."""
        if not self.found_connected:
            self.ray.shutdown()
            self._print_events(True)
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, self.terminate or signal.SIG_DFL)


def _check_address(address: str) -> None:
    """Refuse an address where no cluster answers: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise InputError(f"--address wants HOST:PORT of a Ray cluster's head, or auto, got {address!r}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=REACH) as connection:
            connection.settimeout(REACH)
            connection.sendall(PREFACE)
            answer = connection.recv(9)
    except (OSError, OverflowError) as error:
        why = error_text(error) if isinstance(error, OSError) and error.strerror else "no answer"
        raise InputError(f"there is no Ray cluster at {address} ({why}): start one with `ray start --head`") from error
    if answer[3:4] != b"\x04":  # the type of a settings frame, with which every server of Ray's protocol begins
        raise InputError(f"what answers at {address} is not a Ray cluster: give the address that `ray start` printed")


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Processes that are started meanwhile inherit these variables. What Ray adds to them is removed as well."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
