"""The device to compute on."""

import torch

from ordinate.core.errors import InputError, nearest


def pick_device(name: str = "auto") -> torch.device:
    """`auto` chooses the best available device; one that is not available is an error, never a silent CPU."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device(next(d for d in ("cuda", "mps", "cpu") if available[d]))
    kind = name.partition(":")[0]
    if kind not in available:
        raise InputError(f"unknown device {name!r}: {nearest(name, ['auto', *available])}")
    if not available[kind]:
        raise InputError(f"device {name!r} is not available on this machine: use device=cpu or device=auto")
    return torch.device(name)
