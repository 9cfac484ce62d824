"""What a device is good at: the speed of a large matrix product, and the precision to train in."""

import time
from typing import Literal

import torch

SECONDS = 0.3  # of timing


def matmul_rate(device: torch.device, precision: torch.dtype) -> float:
    """Operations per second of a large matrix product, measured now: the peak of model FLOPs utilization (MFU)."""
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


def default_precision(device: torch.device) -> Literal["float32", "bfloat16"]:
    """bfloat16 where the hardware has it. A CPU without it takes 32 times as long as in float32."""
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if device.type == "cpu":
        supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)  # private: may go away
        return "bfloat16" if supported is not None and supported() else "float32"
    return "float32"
