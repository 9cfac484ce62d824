"""Reports of what ships and explanations of encodings, in processes of their own, against the import of torch."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Row, compare
from ordinate.store.examples import ARCHIVE
from ordinate.store.unpack import unpack

SHIPPED = "s4-k-back"
SHOW = "ordinate show rope"
TORCH, REPORT, AGAIN = "import torch", f"ordinate report {SHIPPED}", "a second pass over finished comparisons"


def run(rounds: int = 5, tiny: bool = False) -> dict[str, list[Row]]:
    program = [sys.executable, "-m", "ordinate"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpack(ARCHIVE, folder / "runs")
        study = folder / "fair.toml"
        study.write_text(FAIR)
        commands = {
            TORCH: [sys.executable, "-c", "import torch"],
            REPORT: [*program, "report", SHIPPED],
            SHOW: [*program, "show", "rope"],
            AGAIN: [*program, "study", "run", str(study), "--store", str(folder / "runs")],
        }
        times: dict[str, list[float]] = {what: [] for what in commands}
        for _ in range(rounds):
            for what, command in commands.items():
                begin = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True, cwd=folder)
                times[what].append(time.perf_counter() - begin)
    return {
        "Reports of what ships (times as long)": [
            compare(times, REPORT, TORCH, required="<= 2"),
            compare(times, SHOW, TORCH, required="<= 2"),
            compare(times, AGAIN, TORCH, required="<= 2"),
        ]
    }


FAIR = """
title = "What ships"
question = "Which encodings?"
[[parts]]
name = "fair"
encodings = ["alibi", "learned", "none", "rope", "sinusoidal", "t5"]
seeds = 6
[parts.grid]
tasks = ["k_back", "first_last", "shift_pattern"]
"""
