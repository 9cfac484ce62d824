"""Results as somebody else's program may have written them, to try the page with."""

from random import Random

COLUMNS = "encoding,task,seed,length,split,score,chance,n"
SEEDS = range(1, 7)
# encoding: what it scores at each length, without luck
SCORES: dict[str, dict[int, float | None]] = {
    "rotation": {32: 0.995, 64: 0.83, 128: 0.52},
    "slope": {32: 0.985, 64: 0.975, 128: 0.93},
    "table": {32: 0.99, 64: None, 128: None},  # it cannot go where nothing was trained
}


def text() -> str:
    """A file of three encodings, six seeds and three lengths; the same whenever it is asked for."""
    luck = Random(7)
    lines = [COLUMNS]
    for encoding, scores in SCORES.items():
        for seed in SEEDS:
            for length, mean in scores.items():
                split = "id" if length == 32 else "ood"
                spread = 0.004 if length == 32 else 0.02
                score = "" if mean is None else f"{min(1.0, luck.gauss(mean, spread)):.4f}"
                lines.append(f"{encoding},recall,{seed},{length},{split},{score},0.0625,1000")
    return "\n".join(lines) + "\n"
