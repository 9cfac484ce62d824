"""A process that does one run after the other: `python -m ordinate.studies.worker STORE [CORE]`.

It reads configurations from standard input and writes what happens to standard output, one JSON document a line. It
ends when its input does, so that no worker outlives its driver for long.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any


def main(store: str, core: str = "") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which decides what becomes of the runs
    if core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    talk = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else is printed must not get between the lines

    def say(**content: Any) -> None:
        try:
            talk.write(json.dumps(content) + "\n")
        except BrokenPipeError:  # the driver is gone: leave the run as it is, to be continued
            os._exit(0)

    import ordinate.training  # noqa: F401 - before it is ready, because loading torch takes seconds

    say(kind="ready")
    for line in sys.stdin:
        work(json.loads(line), Path(store), say)
    os._exit(0)  # unloading torch takes a second


def work(config: dict[str, Any], store: Path, say: Callable[..., None]) -> None:
    """Do a run and tell what happens to it, as `say(kind=..., ...)`."""
    from ordinate.core.config import build
    from ordinate.core.errors import error_text
    from ordinate.store import Store
    from ordinate.training import RunConfig, attempt

    try:
        done = attempt(build(RunConfig, config), Store(store), lambda now: say(kind="progress", progress=asdict(now)))
    except Exception as error:  # kept with the run
        say(kind="failed", error=error_text(error))
    else:
        say(kind="done" if done else "elsewhere")


if __name__ == "__main__":
    main(*sys.argv[1:])
