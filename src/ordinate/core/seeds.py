"""Named generators: every use of randomness has its own stream, independent of all others."""

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def seed_of(seed: int, *purpose: object) -> int:
    """A 63-bit seed for one purpose. Different purposes give unrelated streams, on every machine the same ones."""
    text = json.dumps([str(part) for part in (seed, *purpose)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *purpose: object, device: "str | torch.device" = "cpu") -> "torch.Generator":
    """A fresh generator for one purpose, for example `generator(0, "data", "train")`."""
    import torch  # here: a seed alone does not need it

    return torch.Generator(device).manual_seed(seed_of(seed, *purpose))
