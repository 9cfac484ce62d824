"""A study by two workers on Ray, against two local workers, in turns: the cluster is up and both are warm."""

import tempfile
from pathlib import Path

from benchmarks.measure import Row, compare
from benchmarks.plain_loop import KINDS, SETTINGS
from benchmarks.study import STEPS, TINY, Bench
from ordinate.studies.local import Local
from ordinate.studies.ray_cluster import RayCluster

SEEDS = 8  # half of which are measured: sixteen runs


def run(rounds: int = 3, tiny: bool = False) -> dict[str, list[Row]]:
    steps, seeds, workers = (2, 2, 1) if tiny else (STEPS, SEEDS, 2)
    times: dict[str, list[float]] = {"on Ray": [], "local": []}
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), {"steps": steps, **SETTINGS} | (TINY if tiny else {}), seeds)
        for _ in range(rounds):
            times["local"].append(bench.workers(workers, 1, Local))
            times["on Ray"].append(bench.workers(workers, 1, RayCluster))
    title = f"Workers on a cluster ({seeds // 2 * len(KINDS)} runs of {steps} steps, time)"
    return {title: [compare(times, "on Ray", "local", required="<= 1.15")]}
