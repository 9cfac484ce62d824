"""Several processes that train one model, started by `torchrun`: with copies of it (DDP), or shards (FSDP2).

On CUDA they communicate by nccl, which the tests do not cover; on a CPU by gloo, which they do.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

from ordinate.core.errors import InputError
from ordinate.lm.config import Shard
from ordinate.model.block import Block


@dataclass(frozen=True)
class Ranks:
    """This process among those that train together."""

    rank: int = 0
    world: int = 1
    local: int = 0  # among those on this machine

    @property
    def first(self) -> bool:
        return self.rank == 0

    def device(self, kind: torch.device) -> torch.device:
        """One accelerator each."""
        return torch.device("cuda", self.local) if kind.type == "cuda" and self.world > 1 else kind

    def total(self, *values: float) -> list[float]:
        if self.world == 1:
            return list(values)
        device = torch.device("cuda", self.local) if dist.get_backend() == "nccl" else torch.device("cpu")
        tensor = torch.tensor(values, dtype=torch.float64, device=device)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor]

    def any(self, flag: bool) -> bool:
        """Whether it holds on some rank, so that all ranks take the same branch."""
        return self.total(float(flag))[0] > 0

    def wait(self) -> None:
        if self.world > 1:
            dist.barrier()


@contextmanager
def joined(device: torch.device) -> Iterator[Ranks]:
    """Join the processes that `torchrun` started; one rank alone without it."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Ranks()
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Ranks(dist.get_rank(), world, int(os.environ.get("LOCAL_RANK", "0")))
    finally:
        dist.destroy_process_group()


def spread(objective: nn.Module, ranks: Ranks, shard: Shard) -> nn.Module:
    """The objective over all ranks."""
    if shard == "fsdp2":
        if ranks.world == 1:
            raise InputError("--shard fsdp2 needs several processes: start with torchrun --nproc_per_node N")
        # Blocks give views, which nothing here writes into.
        warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view")
        for module in objective.modules():
            if isinstance(module, Block):
                fully_shard(module)
        fully_shard(objective)
        return objective
    return DistributedDataParallel(objective) if ranks.world > 1 else objective


@contextmanager
def gathering(objective: nn.Module, *, last: bool) -> Iterator[None]:
    """Exchange gradients once per step, with its last micro-batch."""
    if isinstance(objective, FSDPModule):
        objective.set_requires_gradient_sync(last)
        yield
        return
    with objective.no_sync() if isinstance(objective, DistributedDataParallel) and not last else nullcontext():
        yield
