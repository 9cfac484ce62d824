"""A process, identified among all that may share a store.

Its number is not enough: numbers are used again, every container counts from one, and containers may share a host
name. With the boot and the process namespace that the number belongs to, and when the process started, it does.
"""

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4


def boot() -> str:
    """The kernel that process numbers belong to; where it has no name, its host."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()


def namespace() -> str:
    """Which process numbers are meant; a new name each time where /proc shows those of another namespace."""
    try:
        return os.readlink("/proc/self/ns/pid") if os.readlink("/proc/self") == str(os.getpid()) else uuid4().hex
    except OSError:
        return ""


def started(pid: int) -> str:
    """When a process started, so that a number used again is not taken for it; empty if it is dead or a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if words[0] in "ZX" else words[19]
    except OSError:
        pass
    if Path("/proc/self/stat").exists() or pid < 1:
        return ""
    try:  # no /proc on macOS: existence has to do
        os.kill(pid, 0)
        return "alive"
    except OSError:
        return ""


@dataclass(frozen=True)
class Holder:
    """The holder of a claim. The token is unique, even among threads."""

    pid: int
    token: str
    started: str
    host: str = field(default_factory=socket.gethostname)  # for people
    boot: str = field(default_factory=boot)
    namespace: str = field(default_factory=namespace)

    @property
    def near(self) -> bool:
        """Whether its process can be seen from here."""
        return self.boot == boot() and self.namespace == namespace()

    @property
    def runs(self) -> bool:
        """Whether its process, which must be visible from here, is alive."""
        return bool(self.started) and started(self.pid) == self.started
