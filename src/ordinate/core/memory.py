"""The memory that this process can use, and the refusal of what needs more."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from ordinate.core.errors import InputError

GROUPS, MEMBER = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def available() -> int:
    """Bytes that this process can have at most: the machine's, or fewer where a container or a shell sets a limit."""
    return min((_machine(), *_container(), *_shell()))


def require_memory(needed: int, what: str) -> None:
    """Refuse what cannot fit, by an estimate that is never too high: `what` names the numbers to change."""
    if needed > (most := available()):
        sizes = (f"{size / 1e9:,.0f} GB" if size >= 1e10 else f"{size / 1e9:.1f} GB" for size in (needed, most))
        raise InputError("{} would take at least {} of memory, but {} are available: reduce it".format(what, *sizes))


def _machine() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _container() -> Iterator[int]:
    """Limits of the control groups that this process is in, or of the root that a container sees instead."""
    try:
        lines = MEMBER.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kind, path = line.split(":", 2)
        if kind not in ("", "memory"):
            continue
        root, name = (GROUPS, "memory.max") if kind == "" else (GROUPS / "memory", "memory.limit_in_bytes")
        inner = root / path.lstrip("/")
        for folder in (inner, *inner.parents):
            if not folder.is_relative_to(root):
                break
            try:
                yield int((folder / name).read_text())
            except (OSError, ValueError):  # no such group here, or the word `max`
                continue


def _shell() -> Iterator[int]:
    """What `ulimit -v` leaves beyond the addresses that are in use already."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        try:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
        except OSError:
            pages = 0
        yield max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))
