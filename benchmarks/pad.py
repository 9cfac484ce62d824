"""Sequences of several lengths as users of other libraries put them into one batch."""

import torch
from torch.nn import functional as F

from ordinate.core.task import UNSCORED, Batch
from ordinate.training.data import PackedBatch


def padded(parts: list[Batch]) -> PackedBatch:
    """Every sequence filled up to the longest. The model is causal, so nothing need be masked."""
    longest = parts[-1].tokens.shape[1]
    fill = lambda x, value: F.pad(x, (0, longest - x.shape[1]), value=value)  # noqa: E731
    tokens = torch.cat([fill(part.tokens, 0) for part in parts])
    return PackedBatch(tokens, torch.cat([fill(part.targets, UNSCORED) for part in parts]), None, None)
