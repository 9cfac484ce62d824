"""Which process works in a folder: a file names it; the file's date is the heartbeat, for other machines."""

import fcntl
import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

from ordinate.core.errors import InputError
from ordinate.results.serialize import read
from ordinate.store.files import no_link, parse_json, refuse_link, regular, write_json
from ordinate.store.holder import Holder, started

BEAT = 15.0  # seconds between heartbeats
SILENCE = 120.0  # seconds without one after which a process that cannot be seen from here counts as dead
AHEAD = 86_400.0  # seconds by which clocks of machines that share a store may differ
LONGEST = 10_000  # bytes that say who holds a claim


class LostClaimError(InputError):
    """Another process holds the claim now, so this one must not write any more."""


class Claim:
    """One process at a time takes it, gives it up, or writes under it."""

    def __init__(self, path: Path) -> None:
        self.path, self.token = path, ""
        self._ended = threading.Event()

    @property
    def holder(self) -> Holder | None:
        """The live holder, without taking the lock; a date far in the future does not count as a heartbeat."""
        return self._living(time.time(), AHEAD)

    @property
    def mine(self) -> bool:
        """Whether it is still this object's: a process that slept too long may have lost it to another machine."""
        holder, _ = self._read()
        return bool(self.token) and holder is not None and holder.token == self.token

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Meanwhile no other process takes the claim, releases it, or writes under it."""
        folder, path = self.path.parent, self.path.with_name(".lock")
        while True:
            refuse_link(folder)
            folder.mkdir(parents=True, exist_ok=True)
            lock = no_link(str(path), os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if path.exists() and os.path.samestat(os.fstat(lock), path.stat()):  # not moved away while we waited
                    yield lock
                    return
            finally:
                os.close(lock)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Only the holder may write, and no process takes over before it has written."""
        with self.locked():
            if not self.mine:
                holder, _ = self._read()
                how = f"was taken over by a process on {holder.host}" if holder else "is no longer claimed"
                raise LostClaimError(f"{self.path.parent} {how}: this process stops working on it")
            yield

    def awaited(self, lock: int) -> Holder | None:
        """The live holder, for a process that waits for the claim.

        Time is the disk's, so that the clocks of two machines need not agree. A heartbeat in the future is set to now:
        a live holder renews it, a dead one expires as usual.
        """
        os.utime(lock)
        now = os.fstat(lock).st_mtime
        holder, beat = self._read()
        if holder and not holder.near and beat > now:
            with suppress(OSError):
                os.utime(self.path)
        return self._living(now)

    def take(self, lock: int) -> bool:
        """Become the holder, unless another one is alive."""
        holder = self.awaited(lock)
        if holder and not (holder.near and holder.pid == os.getpid() and not holder.token):
            return False
        self.token, self._ended = uuid4().hex, threading.Event()
        self.give(os.getpid(), self.token)
        file = os.open(self.path, os.O_RDONLY)  # this file: a process that takes over writes another one
        threading.Thread(target=_beat, args=(file, self._ended), daemon=True).start()
        return True

    def give(self, pid: int, token: str = "") -> None:
        """Write down who holds it. A process that was just started for it has no token, and takes the claim itself."""
        write_json(self.path, asdict(Holder(pid, token, started(pid))))

    def free(self) -> None:
        """Release the claim, unless another process has taken it over."""
        self._ended.set()
        with self.locked():
            if self.mine:
                self.path.unlink(missing_ok=True)
        self.token = ""

    def clear(self) -> None:
        """Remove the claim of a holder that died."""
        with self.locked() as lock:
            if not self.awaited(lock):
                self.path.unlink(missing_ok=True)

    def move(self, path: Path, target: Path) -> bool:
        """Move the folder that is claimed, or a part of it, to a new path, unless a process is working in it."""
        with self.locked() as lock:
            if self.awaited(lock):
                return False
            os.rename(path, target)
            return True

    def _living(self, now: float, ahead: float = math.inf) -> Holder | None:
        """By its process where that can be seen from here, by its heartbeat, at most so far ahead, where it cannot."""
        holder, beat = self._read()
        if holder is None:
            return None
        return holder if (holder.runs if holder.near else -ahead < now - beat < SILENCE) else None

    def _read(self) -> tuple[Holder | None, float]:
        """The holder, if the claim can be read, and the time of the last heartbeat."""
        try:
            # reopened: otherwise a shared disk may report a date that is a minute old
            with open(self.path, "rb", opener=regular) as file:
                return read(Holder, parse_json(file.read(LONGEST)), "claim"), os.fstat(file.fileno()).st_mtime
        except (OSError, ValueError):
            return None, 0.0


def _beat(file: int, ended: threading.Event) -> None:
    """Renew the heartbeat until the claim is released."""
    while not ended.wait(BEAT):
        with suppress(OSError):
            os.utime(file)
    os.close(file)
