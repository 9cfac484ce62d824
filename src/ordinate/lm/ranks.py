"""Several processes that train one model, started by `torchrun`: with copies of it (DDP), or shards (FSDP2).

Gradients on CUDA go by nccl, which the tests do not cover; all else, and gradients on a CPU, by gloo, which they do.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

from ordinate.core.errors import InputError
from ordinate.lm.config import Shard
from ordinate.lm.errors import LostRankError
from ordinate.model.block import Block

T = TypeVar("T")
# What gloo and nccl say when a peer is gone; torch raises a plain RuntimeError in some places.
_LOST = re.compile("gloo|NCCL|Connection (closed|reset|refused)|Broken pipe|[Tt]imed out")


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
        """Sums over all ranks. They are exchanged between CPUs, so that accelerators go on with their work."""
        if self.world == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device="cpu")
        dist.all_reduce(tensor)
        return [float(value) for value in tensor]

    def any(self, *flags: bool) -> list[bool]:
        """For each flag, whether it holds on some rank, so that all ranks take the same branch."""
        return [count > 0 for count in self.total(*map(float, flags))]

    def wait(self) -> None:
        self.total(0.0)

    def decide(self, look: Callable[[], T]) -> T:
        """What rank 0 finds, on all ranks: another machine may see other files. What it raises is raised on all."""
        if self.world == 1:
            return look()
        outcome: list[Any] = [None]
        if self.first:
            try:
                outcome = [(look(), None)]
            except (InputError, OSError) as error:
                outcome = [(None, error)]
        dist.broadcast_object_list(outcome, src=0, device=torch.device("cpu"))
        found, raised = outcome[0]
        if raised is not None:
            raise raised
        return cast(T, found)


@contextmanager
def joined(device: torch.device) -> Iterator[Ranks]:
    """Join the processes that `torchrun` started; one rank alone without it."""
    world, local = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_RANK", "0"))
    if world == 1:
        yield Ranks()
        return
    if device.type == "cuda":
        torch.cuda.set_device(local)  # before nccl starts: it would put all ranks on the first device
    dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
    try:
        yield Ranks(dist.get_rank(), world, local)
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and not _LOST.search(str(error)):
            raise
        reason = str(error).splitlines()[0]
        raise LostRankError(f"another process of this training ended or cannot be reached ({reason})") from error
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
