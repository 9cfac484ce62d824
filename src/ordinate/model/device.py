"""Where to compute."""

import torch

from ordinate.core.errors import InputError, nearest


def pick_device(name: str = "auto") -> torch.device:
    """`auto` takes the best there is; a device that is not there is an error, never a silent CPU."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device(next(d for d in ("cuda", "mps", "cpu") if there[d]))
    kind = name.partition(":")[0]
    if kind not in there:
        raise InputError(f"unknown device {name!r}: {nearest(name, ['auto', *there])}")
    if not there[kind]:
        raise InputError(f"device {name!r} was asked for, but this machine has none: use device=cpu or device=auto")
    return torch.device(name)
