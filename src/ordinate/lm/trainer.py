"""One stretch of training: from a step to a step, along a trunk or down a branch."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from ordinate.core.errors import InputError
from ordinate.core.memory import require
from ordinate.core.seeds import seed_of
from ordinate.lm import checkpoint
from ordinate.lm.config import TrunkConfig
from ordinate.lm.meter import matmul_rate
from ordinate.lm.objective import Objective, make_optimizer
from ordinate.lm.ranks import Ranks, Shard, clip, gathering, spread
from ordinate.lm.schedule import Branch, rate
from ordinate.lm.sizes import flops_per_token
from ordinate.lm.stream import training_rows, validation_rows
from ordinate.model import Transformer, pick_device
from ordinate.text.corpus import Corpus
from ordinate.training.limits import STATE

MICRO = 16_384  # tokens of one pass, unless a number of sequences is given


class Diverged(Exception):  # noqa: N818
    """The loss is no number any more."""


@dataclass(frozen=True)
class Options:
    """How training is carried out. Nothing here changes what is learned, but for the last bits of sums."""

    device: str = "auto"
    micro_batch: int | None = None  # sequences of one pass on one rank
    shard: Shard = "none"
    compiled: bool = False
    save_every: float = 300.0  # seconds
    keep: int = 1  # checkpoints, the latest among them
    log_every: int = 10  # steps
    valid_every: int = 500  # steps
    valid_tokens: int = 1_000_000  # or as many as there are
    trackers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Now:
    """How far training is, for whoever watches."""

    stretch: str  # the name of its folder
    step: int
    end: int
    numbers: dict[str, float]
    seconds_left: float


Watch = Callable[[Now], None]


class Trainer:
    """A model, its optimizer and the step that they are at."""

    def __init__(
        self, config: TrunkConfig, corpus: Corpus, options: Options, ranks: Ranks, branch: Branch | None = None
    ) -> None:
        check_fit(config, corpus, ranks)
        self.config, self.corpus, self.options, self.ranks, self.branch = config, corpus, options, ranks, branch
        self.device = ranks.device(pick_device(options.device))
        with self.device:
            self.model = Transformer(config.model, seed=config.seed)
        self.objective = spread(Objective(self.model, compiled=options.compiled), ranks, options.shard)
        self.optimizer = make_optimizer(config, self.model)
        self.step, self.seconds = 0, 0.0
        self.micro = options.micro_batch or max(1, MICRO // config.model.length)
        self.flops = flops_per_token(config.model)
        self.peak = matmul_rate(self.device, getattr(torch, config.precision))

    @property
    def tokens(self) -> int:
        return self.step * self.config.step_tokens

    def advance(self) -> dict[str, torch.Tensor]:
        """One step of the optimizer; what it met is told as tensors, so that nobody waits for a device."""
        config, ranks = self.config, self.ranks
        self.objective.train()
        torch.manual_seed(seed_of(config.seed, "dropout", self.step, ranks.rank))
        rows = training_rows(config, self.corpus, self.step, ranks.rank, ranks.world).to(self.device)
        total = torch.zeros((), device=self.device)
        parts = rows.split(self.micro)
        for number, part in enumerate(parts, start=1):
            with gathering(self.objective, last=number == len(parts)):
                with self._narrow():
                    loss = self.objective(part.tokens, part.targets, part.document_ids)
                # ranks average their gradients, but losses are summed over all of a batch's tokens
                (loss * (ranks.world / config.step_tokens)).backward()
            total += loss.detach()
        norm = clip(list(self.model.parameters()), config.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rate(config, self.step, self.branch)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return {"loss": total, "gradient_norm": norm}

    def measure(self, met: dict[str, torch.Tensor], speed: float) -> dict[str, float]:
        """The numbers of the step just done; `speed` is in tokens per second, over all ranks."""
        loss = self.ranks.total(float(met["loss"]))[0] / self.config.step_tokens
        norm = float(met["gradient_norm"])
        self._check_finite(loss, norm)
        return {
            "loss": loss,
            "lr": rate(self.config, self.step - 1, self.branch),
            "gradient_norm": norm,
            "tokens_per_second": speed,
            "mfu": speed * self.flops / (self.peak * self.ranks.world),
        }

    def validate(self) -> dict[str, float]:
        """Loss in nats per token and in bits per byte, on the start of the validation split."""
        length, ranks = self.config.model.length, self.ranks
        there = self.corpus.sequences("valid", length)
        count = min(there, max(1, self.options.valid_tokens // length))
        own = range(count)[ranks.rank :: ranks.world]
        numbers = [*own] + [0] * (math.ceil(count / ranks.world) - len(own))  # ranks with shards take equal turns
        sizes = torch.from_numpy(self.corpus.token_bytes())
        self.objective.eval()
        loss, size, tokens = 0.0, 0.0, 0.0
        for start in range(0, len(numbers), self.micro):
            rows = validation_rows(self.config, self.corpus, numbers[start : start + self.micro])
            here = rows.to(self.device)
            with self._narrow():
                losses = self.objective(here.tokens, here.targets, here.document_ids)
            mine = max(0, len(own) - start)  # the others only keep step
            loss += float(losses[:mine].double().sum())
            size += float(sizes[rows.targets[:mine]].sum())
            tokens += rows.targets[:mine].numel()
        loss, size, tokens = ranks.total(loss, size, tokens)
        self._check_finite(loss)
        return {"valid_loss": loss / tokens, "bits_per_byte": loss / math.log(2) / max(size, 1.0)}

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds. Ranks with shards must all ask."""
        return {"step": self.step, "seconds": self.seconds, **checkpoint.whole_state(self.model, self.optimizer)}

    def _check_finite(self, *values: float) -> None:
        if not all(math.isfinite(value) for value in values):
            raise Diverged(f"the loss is no number any more at step {self.step:,}: try a rate below {self.config.lr:g}")

    def _narrow(self) -> Any:
        if self.config.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


def check_fit(config: TrunkConfig, corpus: Corpus, ranks: Ranks) -> None:
    """Refuse data that the model cannot learn from, and batches that ranks cannot share."""
    length = config.model.length
    if corpus.fingerprint != config.corpus:
        raise InputError(f"{corpus.folder} holds other data than this model was begun with: name the right folder")
    if corpus.vocabulary > config.model.vocabulary:
        raise InputError(
            f"{corpus.folder} has a vocabulary of {corpus.vocabulary:,}, the model one of {config.model.vocabulary:,}: "
            f"prepare it with --vocabulary {config.model.vocabulary}, or set vocabulary={corpus.vocabulary}"
        )
    for split in ("train", "valid"):
        if not corpus.sequences(split, length):
            raise InputError(
                f"{corpus.folder} has {corpus.tokens(split):,} tokens to {split}, fewer than one sequence of "
                f"{length + 1:,}: prepare more text, or set a smaller length"
            )
    if ranks.world == 1:
        require(STATE * config.model.weights, f"training {config.size} with dim {config.model.dim}")
    if config.batch % ranks.world:
        raise InputError(f"a batch of {config.batch} sequences cannot be shared by {ranks.world} ranks evenly")
