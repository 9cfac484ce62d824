"""`ordinate analyze` on large files of every shape: seconds, processor time and memory of whole commands."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import Row

HEADER = "encoding,task,seed,length,split,score,chance,n\n"
SECONDS, MEGABYTES = 60, 1000  # that a command may take


@dataclass(frozen=True)
class Shape:
    """How many of each; the first length is in distribution."""

    tasks: int
    encodings: int
    seeds: int
    lengths: int

    @property
    def rows(self) -> int:
        return self.tasks * self.encodings * self.seeds * self.lengths


SHAPES = {
    "2 million rows, many seeds": Shape(2, 10, 20_000, 5),
    "2 million rows, many lengths": Shape(1, 2, 10, 100_000),
    "2 million rows, many encodings": Shape(1, 1_000, 20, 100),
    "2 million rows, many tasks": Shape(20_000, 5, 10, 2),
    "2 million rows, a bit of all": Shape(20, 20, 25, 200),
    "1,000 encodings": Shape(1, 1_000, 6, 2),
    "20,000 tasks": Shape(20_000, 3, 6, 2),
}
TINY = {"a small file": Shape(2, 3, 3, 2)}
COMMANDS = {"to a terminal": (), "as a page": ("--format", "html"), "as JSON": ("--json",)}


def lines(shape: Shape) -> Iterator[str]:
    """Scores that differ by encoding and fall with the length, with noise; some seeds do not learn the task."""
    source = np.random.default_rng(0)
    for task in range(shape.tasks):
        for encoding in range(shape.encodings):
            fall = 0.6 * encoding / shape.encodings
            weak = source.random(shape.seeds) < 0.1
            for place in range(shape.lengths):
                level = 0.99 if place == 0 else 0.95 - fall * place / shape.lengths
                scores = (level + 0.01 * source.standard_normal(shape.seeds) - 0.3 * weak).clip(0, 1)
                end = f"{8 * (place + 1)},{'ood' if place else 'id'}"
                for seed, score in enumerate(scores.tolist()):
                    yield f"e{encoding},t{task},{seed},{end},{score:.3f},0.1,1000\n"


@dataclass(frozen=True)
class Cost:
    seconds: float
    processor: float
    megabytes: float


def cost(path: Path, *options: str) -> Cost:
    """Of one command, whose output is thrown away."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "ordinate", "analyze", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)


def run(rounds: int = 1, tiny: bool = False) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, shape in (TINY if tiny else SHAPES).items():
            path = Path(folder) / "results.csv"
            with open(path, "w") as file:
                file.write(HEADER)
                file.writelines(lines(shape))
            rows = []
            for how, options in COMMANDS.items():
                costs = [cost(path, *options) for _ in range(rounds)]
                for unit, values, most in (
                    ("seconds", [each.seconds for each in costs], SECONDS),
                    ("processor seconds", [each.processor for each in costs], None),
                    ("MB at most", [each.megabytes for each in costs], MEGABYTES),
                ):
                    required = "" if most is None else f"<= {most}"
                    rows.append(Row(how, unit, min(values), min(values), max(values), required))
            tables[f"ordinate analyze, {name} ({shape.rows:,} rows)"] = rows
    return tables
