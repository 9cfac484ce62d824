"""The machine of a run, and how this process is set up for it."""

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy
import torch

from ordinate import __version__
from ordinate.results.run_result import Machine


def describe() -> Machine:
    """This machine and the versions installed on it."""
    return Machine(
        ordinate=__version__, python=platform.python_version(), torch=str(torch.__version__), numpy=numpy.__version__,
        platform=platform.platform(), processor=_processor(), cores=os.cpu_count(), threads=torch.get_num_threads(),
        git=_git(),
    )  # fmt: skip


@contextmanager
def prepared(threads: int, device: str) -> Iterator[None]:
    """Fix the threads, use deterministic algorithms, and restore the caller's settings and generator at the end.

    On a CPU the order of sums depends only on the number of threads, so all algorithms used are deterministic; on other
    devices torch uses deterministic ones where it has them.
    """
    before, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    keep_memory()
    with torch.random.fork_rng():
        torch.set_num_threads(threads)
        if device != "cpu":
            # cuBLAS reads it when it starts: without it, its sums may differ from run to run
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            torch.use_deterministic_algorithms(strict)


@cache
def keep_memory() -> None:
    """Let glibc keep what is freed: otherwise every step requests about a thousand pages from the kernel again."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _git() -> str | None:
    """The commit that the program was run from, if it is a checkout."""
    command = ["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
