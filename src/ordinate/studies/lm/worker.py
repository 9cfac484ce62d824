"""A process that does one run: `python -m ordinate.studies.lm.worker`, which reads it from standard input.

It writes what happens to standard output, one JSON document a line. SIGTERM makes it save and stop; so does the end of
its driver.
"""

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.studies.lm.work import ModelProgress


class _Driver:
    """Who reads what this process says; stops the run when it is gone."""

    def __init__(self) -> None:
        self.pipe = os.fdopen(os.dup(1), "w", buffering=1)
        self.gone = False
        os.dup2(2, 1)  # whatever else is printed must not get between the lines

    def say(self, **content: Any) -> None:
        try:
            self.pipe.write(json.dumps(content) + "\n")
        except BrokenPipeError:
            self.gone = True

    def show(self, now: "ModelProgress") -> None:
        self.say(kind="progress", **asdict(now))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which sends SIGTERM
    driver = _Driver()
    work(json.loads(sys.stdin.readline()), driver)
    os._exit(0)  # unloading torch takes a second


def work(job: dict[str, Any], driver: _Driver) -> None:
    """Do the run and tell how it ended."""
    from ordinate.core.config import build
    from ordinate.core.errors import error_text
    from ordinate.lm.budgets import read_branch
    from ordinate.lm.config import TrunkConfig
    from ordinate.lm.errors import DivergedError
    from ordinate.lm.evaluation.config import EvalConfig
    from ordinate.studies.lm.comparison import ModelRun
    from ordinate.studies.lm.stored_runs import Checkpoints
    from ordinate.studies.lm.work import Workplace, do_run
    from ordinate.text.corpus import open_corpus
    from ordinate.training import environment
    from ordinate.training.interruption import stop_requested

    try:
        run = ModelRun(
            build(TrunkConfig, job["config"]), read_branch(job["branch"]), build(EvalConfig, job["evaluation"])
        )
        place = Workplace(Checkpoints(Path(job["root"])), open_corpus(job["data"]), job["device"])
        with environment.prepared(job["threads"], job["device"]), stop_requested() as stop:
            end = do_run(run, place, driver.show, lambda: stop() or driver.gone)
    except KeyboardInterrupt:
        driver.say(kind="stopped")
    except DivergedError as diverged:
        driver.say(kind="failed", error=str(diverged))
    except Exception as error:  # told by the driver
        driver.say(kind="failed", error=error_text(error))
    else:
        driver.say(kind=end.value)


if __name__ == "__main__":
    main()
