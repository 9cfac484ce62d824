"""A study by workers: against one worker, one process with two threads, and a plain loop over x-transformers."""

import json
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
from ordinate.studies.ray_cluster import RayCluster
from ordinate.studies.stages import next_stage
from ordinate.studies.study_state import StudyState
from ordinate.training import RunConfig, train

STEPS, SEEDS = 60, 4
TINY = {"batch": 4, "train_lengths": [4, 8], "ood_lengths": [12], "evaluation_sequences": 20}
ENCODINGS = ",".join(KINDS)
COMPARE = """
import json, sys
from ordinate import compare
seeds, workers, settings = json.loads(sys.argv[2])
compare("k_back", sys.argv[3], seeds=seeds, store=sys.argv[1], workers=workers, **settings)
"""


class Bench:
    """Fresh stores that already know the baselines, as every study after the first does."""

    def __init__(self, folder: Path, settings: dict[str, object], seeds: int) -> None:
        self.folder, self.numbers, self.settings, self.seeds = folder, count(), settings, seeds
        first = open_store(folder / "first")
        train(self.configs(1)[0], first)
        self.known = first.folder / "baselines"

    def configs(self, threads: int) -> list[RunConfig]:
        study = plan("k_back", ENCODINGS, seeds=self.seeds // 2, settings=self.settings | {"threads": threads})
        return list(next_stage(StudyState(study, open_store(self.folder / "nothing"))).missing)

    def store(self) -> Path:
        self.last = self.folder / str(next(self.numbers))
        shutil.copytree(self.known, self.last / "baselines")
        return self.last

    def workers(self, workers: int, threads: int, kind: type[Local] | type[RayCluster] = Local) -> float:
        """Seconds for the runs, by workers that are up and warm."""
        configs, pool = self.configs(threads), kind(open_store(self.store()), workers, threads)
        try:
            warm = [config.again(100 + i, config.lr) for i, config in enumerate(configs[:workers])]
            pool.run(warm, lambda event: None)
            begin = time.perf_counter()
            failed = pool.run(configs, lambda event: None)
            assert not failed, failed
            return time.perf_counter() - begin
        finally:
            pool.close()

    def study(self, workers: int | None) -> float:
        """Seconds for twice as many runs, from the start of Python to the verdict."""
        settings = json.dumps([self.seeds, workers, self.settings])
        return _seconds([sys.executable, "-c", COMPARE, str(self.store()), settings, ENCODINGS])

    def bookkeeping(self) -> float:
        """Seconds in which the driver of a finished study plans, looks for missing runs and gathers results."""
        begin = time.perf_counter()
        state = StudyState(plan("k_back", ENCODINGS, seeds=self.seeds, settings=self.settings), open_store(self.last))
        assert not next_stage(state).missing
        collect(state, "")
        return time.perf_counter() - begin


def _seconds(command: list[str]) -> float:
    free = {key: value for key, value in os.environ.items() if key not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=free)
    return time.perf_counter() - begin


def ratio(what: str, against: str, ours: list[float], theirs: list[float], required: str, goal: str = "") -> Row:
    """How many times as fast: best against best, with the single rounds as spread."""
    single = sorted(b / a for a, b in zip(ours, theirs, strict=True))
    return Row(what, against, min(theirs) / min(ours), single[0], single[-1], required, goal, min(ours))


def run(rounds: int = 3, tiny: bool = False) -> dict[str, list[Row]]:
    steps, seeds = (2, 2) if tiny else (STEPS, SEEDS)
    settings = {"steps": steps, **SETTINGS} | (TINY if tiny else {})
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), settings, seeds)
        two, one, threads, study, loop = [], [], [], [], []
        for _ in range(rounds):
            one.append(bench.workers(1, 1))
            two.append(one[0] if tiny else bench.workers(2, 1))  # processes that load torch take the time of a tiny run
            threads.append(one[0] if tiny else bench.workers(1, 2))
            study.append(bench.study(0 if tiny else None))
            loop.append(_seconds([sys.executable, "-m", "benchmarks.plain_loop", str(seeds), json.dumps(settings)]))
            bookkeeping_seconds = bench.bookkeeping()
    share = bookkeeping_seconds / min(study)
    return {
        f"Workers (eight runs of {steps} steps, times as fast)": [
            ratio("two workers", "one worker", two, one, ">= 1.8"),
            ratio("two workers", "one process, two threads", two, threads, ">= 1.15"),
        ],
        f"A study of {seeds * len(KINDS)} runs of {steps} steps, whole processes (times as fast)": [
            ratio("ordinate.compare", "a loop over x-transformers", study, loop, ">= 1.2", "1.4"),
            Row("planning and bookkeeping", "the study (share)", share, share, share, "<= 0.03"),
        ],
    }
