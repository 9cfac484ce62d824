"""How long a token of training takes on this machine: from two steps, or from its speed where a step takes long."""

import time
from dataclasses import dataclass

import torch

from ordinate.lm.budgets import Branch
from ordinate.lm.config import Options, TrunkConfig
from ordinate.lm.hardware import matmul_rate
from ordinate.lm.ranks import Ranks
from ordinate.lm.sizes import flops_per_token
from ordinate.lm.trainer import LMTrainer
from ordinate.text.corpus import Corpus

LARGE_STEP = 3e12  # operations of a step that is not timed
SHARE = 0.5  # of the speed of a large matrix product, which large models reach


@dataclass(frozen=True)
class Pace:
    """Seconds per token."""

    own: float  # of this process alone, as on a machine that does nothing else
    clock: float  # as busy as the machine is
    timed: bool  # in steps; otherwise reckoned


def pace(config: TrunkConfig, branch: Branch | None, corpus: Corpus, device: str) -> Pace:
    """With the threads that torch has now. The second step is timed: the first allocates."""
    kind = torch.device(device)
    if flops_per_token(config.model) * config.step_tokens > LARGE_STEP:
        seconds = flops_per_token(config.model) / (matmul_rate(kind, getattr(torch, config.precision)) * SHARE)
        return Pace(seconds, seconds, timed=False)
    trainer = LMTrainer(config, corpus, Options(device=device), Ranks(), branch)
    trainer.train_step()
    clock, own = time.perf_counter(), time.process_time()
    trainer.train_step()
    taken, used = time.perf_counter() - clock, time.process_time() - own
    threads = torch.get_num_threads() if kind.type == "cpu" else 1
    least = min(taken, used / threads) if kind.type == "cpu" else taken
    return Pace(least / config.step_tokens, taken / config.step_tokens, timed=True)
