"""Memory and time of one attention layer at long lengths, forward and backward, each in a fresh process."""

import json
import resource
import subprocess
import sys
import threading
import time

from benchmarks.measure import Row

HEADS, WIDTH = 8, 64


def measure(name: str, length: int) -> dict[str, float]:
    """In this process: peak resident memory over the start, in MB, and seconds."""
    import torch

    from ordinate import AttentionContext, BoundEncoding, Positions, attend, encodings

    torch.set_num_threads(1)
    encoding = encodings.create(name, dim=HEADS * WIDTH, heads=HEADS, length=length)
    warm = torch.randn(1, HEADS, 512, WIDTH, requires_grad=True)
    attend(
        warm, warm, warm, BoundEncoding(encoding, AttentionContext.self_attention(Positions.range(512)))
    ).sum().backward()
    q, k, v = (torch.randn(1, HEADS, length, WIDTH, requires_grad=True) for _ in range(3))
    grad = torch.ones_like(q)
    del warm
    start, peak, stop = _resident(), [0.0], threading.Event()

    def watch() -> None:
        while not stop.is_set():
            peak[0] = max(peak[0], _resident())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    attend(q, k, v, BoundEncoding(encoding, AttentionContext.self_attention(Positions.range(length)))).backward(grad)
    seconds = time.perf_counter() - begin
    stop.set()
    watcher.join()
    return {"mb": max(peak[0] - start, _resident() - start, 0.001), "seconds": seconds}


def _resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def fresh(name: str, length: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.memory", name, str(length)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run(rounds: int = 3, tiny: bool = False) -> dict[str, list[Row]]:
    names, once, twice = ("none", "alibi", "t5"), 256 if tiny else 4096, 512 if tiny else 8192
    long = {name: [] for name in names}
    short = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            begin = measure if tiny and name != "t5" else fresh  # processes that load torch take the time of a tiny run
            short[name].append(begin(name, once))
            long[name].append(begin(name, twice))
    rows_mb, rows_time, rows_growth = [], [], []
    for name in names[1:]:
        mb = [r["mb"] for r in long[name]]
        rows_mb.append(Row(name, "start of the process (MB)", min(mb), min(mb), max(mb), "<= 400", "250"))
        single = [a["seconds"] / b["seconds"] for a, b in zip(long[name], long["none"], strict=True)]
        best = min(r["seconds"] for r in long[name])
        ratio = best / min(r["seconds"] for r in long["none"])
        rows_time.append(Row(name, "none", ratio, min(single), max(single), "<= 1.6", "", best))
        growth = [a["mb"] / b["mb"] for a, b in zip(long[name], short[name], strict=True)]
        ratio = min(mb) / min(r["mb"] for r in short[name])
        rows_growth.append(Row(name, f"itself at {once:,}", ratio, min(growth), max(growth), "<= 2.3"))
    title = f"One attention layer at length {twice:,}, 8 heads of 64, forward and backward, fresh process"
    return {f"{title}: memory": rows_mb, f"{title}: time": rows_time, f"{title}: growth of memory": rows_growth}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
