"""Work in child processes, which end with their parent, however that ends."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, connection, get_context, parent_process
from typing import Any

from ordinate.core.errors import InputError

Advance = Callable[[int], None]  # takes the amount of work just done
Work = Callable[[Advance], None]  # can travel to another process
LOOK = 0.25  # seconds between looks at how far the work is


def carry_out(work: Sequence[Work], *, processes: int, threads: int, watch: Advance) -> None:
    """Do all of the work, in any order, and report progress to `watch`. With 0 processes, do it in this one.

    The first failure ends all. `threads` is the number of tokenizer threads per process.
    """
    if not processes:
        for task in work:
            task(watch)
        return
    spawn = get_context("spawn")  # a fork in a process with threads may hang
    counter, before = spawn.Value("q", 0), set(active_children())
    executor = ProcessPoolExecutor(min(processes, len(work) or 1), spawn, _begin, (counter, threads))
    try:
        waiting = {executor.submit(_do, task) for task in work}
        seen = 0
        while waiting:
            done, waiting = wait(waiting, LOOK, FIRST_EXCEPTION)
            for future in done:
                future.result()
            now = counter.get_obj().value  # without its lock, which a worker may have been killed with
            watch(now - seen)
            seen = now
    except BaseException as error:
        for process in set(active_children()) - before:
            process.kill()
        if isinstance(error, BrokenProcessPool):
            killed = "a worker was killed, perhaps because memory ran out: start again with fewer --workers"
            raise InputError(killed) from error
        raise
    finally:
        executor.shutdown(cancel_futures=True)


_counter: Any = None  # of this process, if it is a worker


def _begin(counter: Any, threads: int) -> None:
    global _counter
    _counter = counter
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    os.environ["RAYON_NUM_THREADS"] = str(threads)  # read by tokenizers when it first has something to do
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Workers would wait for ever for a parent that was killed."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _do(task: Work) -> None:
    task(_advance)


def _advance(amount: int) -> None:
    with _counter.get_lock():
        _counter.value += amount
