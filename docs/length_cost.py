"""Time and memory of one layer by length: `python docs/length_cost.py`, then docs/depth.py.

Writes docs/length_cost.json: one training step of a layer with 64 channels and 4 heads, forward and backward, batch 1,
one thread. Each encoding has a fresh process; of three rounds the shortest time and the largest memory count. What the
file has is not measured again.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ordinate.training.environment import describe
from ordinate.training.step_memory import GIVE_BACK, MeasuredLayer, here

FILE = Path(__file__).parent / "length_cost.json"
ENCODINGS = ("none", "sinusoidal", "learned(rows=8192)", "rope", "alibi", "t5")
LENGTHS = (512, 1024, 2048, 4096, 8192)
ROUNDS = 3


def measured(encoding: str) -> list[dict[str, Any]]:
    """Every length, in this process."""
    rows = []
    for length in LENGTHS:
        layer = MeasuredLayer(encoding, dim=64, heads=4, length=length)
        rounds = [here(layer) for _ in range(ROUNDS)]
        seconds, memory = min(one.seconds for one in rounds), max(one.bytes for one in rounds)
        rows.append(
            {"encoding": encoding, "length": length, "path": rounds[0].path, "seconds": seconds, "bytes": memory}
        )
    return rows


def main() -> None:
    """Measure what is missing, and write after each encoding."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text())["rows"] if FILE.exists() else []
    for encoding in ENCODINGS:
        if encoding in {row["encoding"] for row in rows}:
            continue
        command = [sys.executable, __file__, encoding]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | GIVE_BACK)
        rows += json.loads(done.stdout)
        machine = {key: value for key, value in asdict(describe()).items() if key not in ("platform", "git")}
        FILE.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
        print(encoding)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measured(sys.argv[1])))
    else:
        main()
