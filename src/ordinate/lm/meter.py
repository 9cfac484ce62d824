"""How fast a model trains, and what share of the machine's own speed that is."""

import time

import torch

SECONDS = 0.3  # of timing


def matmul_rate(device: torch.device, precision: torch.dtype) -> float:
    """Operations per second of a large product, timed here and now: the peak that a share is told against."""
    size = 1024 if device.type == "cpu" else 8192
    a = torch.ones(size, size, device=device, dtype=precision)
    product = a @ a
    best, begin = float("inf"), time.perf_counter()
    while best == float("inf") or time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        torch.matmul(a, a, out=product)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - start)
    return float(2 * size**3 / best)
