"""Time and memory of one layer by length: `python docs/length_cost.py > docs/length_cost.json`, then docs/depth.py.

One training step of a layer with 64 channels and 4 heads, forward and backward, batch 1, one thread, each in a fresh
process; of three rounds the shortest time counts.
"""

import json
import sys
from dataclasses import asdict

from ordinate.training.environment import describe
from ordinate.training.step_memory import MeasuredLayer, Peak, peak

ENCODINGS = ("none", "sinusoidal", "learned(rows=8192)", "rope", "alibi", "t5")
LENGTHS = (512, 1024, 2048, 4096, 8192)
ROUNDS = 3


def measured(encoding: str, length: int) -> dict[str, object]:
    """One row."""
    layer = MeasuredLayer(encoding, dim=64, heads=4, length=length)
    rounds = [found for _ in range(ROUNDS) if isinstance(found := peak(layer), Peak)]
    print(encoding, length, len(rounds), file=sys.stderr)
    if not rounds:
        raise SystemExit(f"{encoding} at {length} could not be measured")
    best = min(rounds, key=lambda one: one.seconds)
    return {"encoding": encoding.partition("(")[0], "length": length, "path": best.path, "seconds": best.seconds,
            "bytes": min(one.bytes for one in rounds)}  # fmt: skip


if __name__ == "__main__":
    rows = [measured(encoding, length) for encoding in ENCODINGS for length in LENGTHS]
    print(json.dumps({"machine": asdict(describe()), "rows": rows}, indent=1))
