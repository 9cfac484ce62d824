"""A study by workers: against one worker, one process with two threads, and a plain loop over x-transformers."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from benchmarks.measure import Row
from benchmarks.plain_loop import KINDS, SETTINGS
from ordinate.store import open_store
from ordinate.studies.collect import collect
from ordinate.studies.local import Local
from ordinate.studies.plan import plan
from ordinate.studies.stages import next_stage
from ordinate.studies.study_state import StudyState
from ordinate.training import RunConfig, train

STEPS, SEEDS = 60, 4
ENCODINGS = ",".join(KINDS)
OURS = (
    "import sys; from ordinate import compare; "
    f"compare('k_back', '{ENCODINGS}', seeds={SEEDS}, store=sys.argv[1], steps={STEPS}, **{SETTINGS!r})"
)


def configs(threads: int) -> list[RunConfig]:
    study = plan("k_back", ENCODINGS, seeds=SEEDS // 2, settings={"steps": STEPS, **SETTINGS, "threads": threads})
    return list(next_stage(StudyState(study, open_store(Path(tempfile.gettempdir()) / "nothing"))).missing)


class Bench:
    """Fresh stores that already know the baselines, as every study after the first does."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.numbers = folder, count()
        first = open_store(folder / "first")
        train(configs(1)[0], first)
        self.known = first.folder / "baselines"

    def store(self) -> Path:
        made = self.folder / str(next(self.numbers))
        shutil.copytree(self.known, made / "baselines")
        self.last = made
        return made

    def workers(self, workers: int, threads: int) -> float:
        """Seconds for eight runs, by workers that are up and warm."""
        todo, local = configs(threads), Local(open_store(self.store()), workers, threads)
        try:
            warm = [config.again(100 + i, config.lr) for i, config in enumerate(todo[:workers])]
            local.run(warm, lambda event: None)
            begin = time.perf_counter()
            failed = local.run(todo, lambda event: None)
            assert not failed, failed
            return time.perf_counter() - begin
        finally:
            local.close()

    def study(self) -> float:
        """Seconds for sixteen runs, from the start of Python to the verdict."""
        return _seconds([sys.executable, "-c", OURS, str(self.store())])


def _seconds(command: list[str]) -> float:
    free = {key: value for key, value in os.environ.items() if key not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=free)
    return time.perf_counter() - begin


def bookkeeping(folder: Path) -> float:
    """Seconds that the driver of a finished study thinks: which runs there are, what is missing, what came out."""
    begin = time.perf_counter()
    study = plan("k_back", ENCODINGS, seeds=SEEDS, settings={"steps": STEPS, **SETTINGS})
    state = StudyState(study, open_store(folder))
    assert not next_stage(state).missing
    collect(state, "")
    return time.perf_counter() - begin


def ratio(what: str, against: str, ours: list[float], theirs: list[float], required: str, goal: str = "") -> Row:
    """How many times as fast: best against best, with the single rounds as spread."""
    single = sorted(b / a for a, b in zip(ours, theirs, strict=True))
    return Row(what, against, min(theirs) / min(ours), single[0], single[-1], required, goal, min(ours))


def run(rounds: int = 3) -> dict[str, list[Row]]:
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        two, one, threads, study, loop = [], [], [], [], []
        for _ in range(rounds):
            two.append(bench.workers(2, 1))
            one.append(bench.workers(1, 1))
            threads.append(bench.workers(1, 2))
            study.append(bench.study())
            loop.append(_seconds([sys.executable, "-m", "benchmarks.plain_loop", str(STEPS), str(SEEDS)]))
            thought = bookkeeping(bench.last)
    share = thought / min(study)
    return {
        "Workers (eight runs of 60 steps, times as fast)": [
            ratio("two workers", "one worker", two, one, ">= 1.8"),
            ratio("two workers", "one process, two threads", two, threads, ">= 1.15"),
        ],
        "A study of 16 runs of 60 steps, whole processes (times as fast)": [
            ratio("ordinate.compare", "a loop over x-transformers", study, loop, ">= 1.2", "1.4"),
            Row("planning and bookkeeping", "the study (share)", share, share, share, "<= 0.03"),
        ],
    }
