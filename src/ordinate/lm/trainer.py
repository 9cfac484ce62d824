"""Training a language model: `TrainingSegment.train` is the loop, `LMTrainer.train_step` is one step of it."""

import math
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ordinate.core.seeds import seed_of
from ordinate.lm import rank_checkpoint
from ordinate.lm.added_size import added_ratio
from ordinate.lm.budgets import Branch, branch_config, branch_schedule
from ordinate.lm.checkpoint_folder import LATEST, REPLAY, CheckpointFolder
from ordinate.lm.config import Options, TrunkConfig
from ordinate.lm.data_check import DataCheck
from ordinate.lm.errors import DivergedError
from ordinate.lm.hardware import matmul_rate
from ordinate.lm.loss import Objective
from ordinate.lm.ranks import Ranks, gathering, spread
from ordinate.lm.segment import SegmentBounds, announce
from ordinate.lm.sinks import Sink, opened
from ordinate.lm.sizes import flops_per_token
from ordinate.lm.stream import RowReader, check_fit, validation_rows
from ordinate.model import Transformer, pick_device
from ordinate.results.run_result import LanguageModelResult
from ordinate.store import Run
from ordinate.text.corpus import Corpus
from ordinate.training import checkpoint
from ordinate.training.checkpoint import LanguageModelState
from ordinate.training.interruption import Interrupted, StopCallback
from ordinate.training.optimizer import apply_gradients, make_optimizer
from ordinate.training.progress import Progress, ProgressCallback, TrainingClock

MICRO = 16_384  # tokens of one pass, unless a number of sequences is given


class StepOutput(NamedTuple):
    """As tensors, so that a step does not wait for the device."""

    loss: Tensor  # sum over this rank's tokens
    gradient_norm: Tensor


class Validation(NamedTuple):
    valid_loss: float  # nats per token
    bits_per_byte: float


class LMTrainer:
    """A model, its optimizer and its step, on a trunk or on a branch."""

    def __init__(
        self, config: TrunkConfig, corpus: Corpus, options: Options, ranks: Ranks, branch: Branch | None = None
    ) -> None:
        config = branch_config(config, branch)
        check_fit(config, corpus, ranks)
        self.config, self.corpus, self.options, self.ranks = config, corpus, options, ranks
        self.device = ranks.device(pick_device(options.device))
        with self.device:
            self.model = Transformer(config.model, seed=config.seed)
        self.objective = spread(Objective(self.model, compiled=options.compiled), ranks, options.shard)
        self.optimizer = make_optimizer(self.model, lr=config.lr, betas=config.betas, weight_decay=config.weight_decay)
        self.schedule = branch_schedule(config, branch)
        self.step, self.clock = 0, TrainingClock()
        wide = torch.float32 if self.device.type == "mps" else torch.float64  # exact: the order of sums does not matter
        self.loss_sum = torch.zeros((), dtype=wide, device=self.device)  # of this rank, since the last record
        self.loss_steps = 0
        self.micro_batch = options.micro_batch or max(1, MICRO // config.model.length)
        self.rows = RowReader(config, corpus, ranks, self.micro_batch, pin=self.device.type == "cuda")
        self.flops = flops_per_token(config.model)
        self.peak = matmul_rate(self.device, getattr(torch, config.precision))

    @property
    def tokens(self) -> int:
        return self.step * self.config.step_tokens

    def train_step(self) -> StepOutput:
        """One step: draw rows, accumulate gradients over micro-batches, update the weights."""
        config, ranks = self.config, self.ranks
        self.objective.train()
        torch.manual_seed(seed_of(config.seed, "dropout", self.step, ranks.rank))
        parts = self.rows.read(self.step)
        total = torch.zeros((), device=self.device)
        for number, part in enumerate((part.to(self.device) for part in parts), start=1):
            with gathering(self.objective, last=number == len(parts)):
                with self._autocast():
                    loss = self.objective(part.tokens, part.targets, part.document_ids, part.scored)
                # ranks average their gradients, but losses are summed over all of a batch's tokens
                (loss * (ranks.world / (config.batch * config.row_targets))).backward()
            total += loss.detach()
        norm = apply_gradients(self.model, self.optimizer, lr=self.schedule.rate(self.step), clip=config.clip)
        self.loss_sum += total
        self.loss_steps += 1
        self.step += 1
        self.clock.count(config.step_tokens)
        return StepOutput(total, norm)

    def metrics(self, output: StepOutput) -> dict[str, float]:
        """The mean loss since the last record, over all ranks, and what else the step just taken is known by.

        Raises `DivergedError` if the loss is not finite.
        """
        loss = self.total_loss() / (self.loss_steps * self.config.batch * self.config.row_targets)
        norm = float(output.gradient_norm)
        self._check_finite(loss, norm)
        speed = self.clock.tokens_per_second
        return {
            "loss": loss,
            "lr": self.schedule.rate(self.step - 1),
            "gradient_norm": norm,
            "tokens_per_second": speed,
            "mfu": speed * self.flops / (self.peak * self.ranks.world),
        }

    def total_loss(self) -> float:
        """The sum over all ranks and tokens since the last record."""
        return self.ranks.total(float(self.loss_sum))[0]

    def sum_losses_from(self, loss: float, steps: int) -> None:
        """Go on summing losses from those of so many steps."""
        self.loss_sum.fill_(loss if self.ranks.first else 0.0)
        self.loss_steps = steps

    def validate(self) -> Validation:
        """The loss on the start of the validation split."""
        length, ranks = self.config.model.length, self.ranks
        available = self.corpus.sequences("valid", length)
        count = min(available, max(1, self.options.valid_tokens // length))
        own = range(count)[ranks.rank :: ranks.world]
        # ranks with shards run equally many passes, so short ones repeat sequence 0 without counting it
        numbers = [*own] + [0] * (math.ceil(count / ranks.world) - len(own))
        sizes = torch.from_numpy(self.corpus.token_bytes())
        self.objective.eval()
        loss, size, tokens = 0.0, 0.0, 0.0
        for start in range(0, len(numbers), self.micro_batch):
            rows = validation_rows(self.config, self.corpus, numbers[start : start + self.micro_batch])
            here = rows.to(self.device)
            with self._autocast():
                losses = self.objective(here.tokens, here.targets, here.document_ids, here.scored)
            counted = max(0, len(own) - start)
            loss += float(losses[:counted].double().sum())
            size += float(sizes[rows.targets[:counted]].sum())
            tokens += rows.targets[:counted].numel()
        loss, size, tokens = ranks.total(loss, size, tokens)
        self._check_finite(loss)
        return Validation(loss / tokens, loss / math.log(2) / max(size, 1.0))

    def _check_finite(self, *values: float) -> None:
        if not all(math.isfinite(value) for value in values):
            raise DivergedError(f"the loss is not finite at step {self.step:,}: try a rate below {self.config.lr:g}")

    def _autocast(self) -> AbstractContextManager[object]:
        if self.config.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


class TrainingSegment:
    """Training up to a step of a trunk or a branch, with its journal, checkpoints and trackers."""

    def __init__(
        self, trainer: LMTrainer, folder: CheckpointFolder, run: Run, end: int, owner: str, group: str,
        data: DataCheck, *, replay: bool = False,
    ) -> None:  # fmt: skip
        self.trainer, self.folder, self.run, self.end = trainer, folder, run, end
        self.owner, self.group, self.data, self.replay = owner, group, data, replay
        self.first = trainer.ranks.first  # rank 0 writes for all
        self.latest = folder.path / (REPLAY if replay else LATEST)
        self.journal = 0  # bytes
        self.validation: Validation | None = None  # the last one

    def load(self, path: Path, owner: str, source: Transformer | None = None) -> None:
        """Continue from a checkpoint, of this segment or of another; `source`: a model like its, if that differs."""
        trainer = self.trainer
        state = rank_checkpoint.load(
            path, owner, trainer.model, trainer.optimizer, trainer.ranks, last=self.end, source=source
        )
        trainer.step, trainer.clock = state.step, TrainingClock(state.seconds)
        if owner == self.owner:  # a branch has its own journal
            self.journal = state.journal
            trainer.sum_losses_from(state.loss, state.steps)

    def train(self, watch: ProgressCallback, stop: StopCallback) -> None:
        """Train to the end. Log, validate and save on the way; stop after a step if `stop` says so."""
        trainer, options, ranks = self.trainer, self.trainer.options, self.trainer.ranks
        if self.first and not self.replay:
            with self.run.writing():
                self.run.journal.cut(self.journal)
                announce(self.folder.path, SegmentBounds(trainer.step, self.end))
        saved = time.monotonic()
        trainer.clock.resume()
        with opened(options.trackers if self.first and not self.replay else (), self.folder, self.group) as trackers:
            while trainer.step < self.end:
                output = trainer.train_step()
                last = trainer.step == self.end
                due = self.first and self.data.ended and time.monotonic() - saved > options.save_every
                stopping, due, damaged = ranks.any(stop(), due, self.data.failed)
                if damaged:
                    ranks.decide(self.data.wait)  # raises
                log, valid = (last or trainer.step % every == 0 for every in (options.log_every, options.valid_every))
                save = stopping or due
                if log or valid or save:
                    metrics = trainer.metrics(output)  # raises if the run diverged, before it is saved
                    trainer.clock.pause()
                    if valid:
                        self.validation = trainer.validate()
                    if log or valid:
                        validation = self.validation._asdict() if valid and self.validation else {}
                        self._report((metrics if log else {}) | validation, watch, trackers)
                    if log:
                        trainer.sum_losses_from(0.0, 0)
                    if save:
                        self.save()
                        saved = time.monotonic()
                    trainer.clock.resume()
                if stopping and not last:
                    raise Interrupted(f"{self.latest} holds step {trainer.step:,} of {self.end:,}")
        self.save()

    def _report(self, metrics: dict[str, float], watch: ProgressCallback, trackers: Sequence[Sink]) -> None:
        trainer = self.trainer
        if not self.first:
            return
        if not self.replay:
            with self.run.writing():
                self.journal = self.run.journal.append([{"step": trainer.step, "tokens": trainer.tokens, **metrics}])
            for tracker in trackers:
                tracker.log(trainer.tokens, metrics)
        left, loss = trainer.clock.seconds_left(self.end - trainer.step), metrics.get("loss", math.nan)
        progress = Progress(trainer.step, self.end, left, loss, name=self.folder.path.name)
        valid, speed, mfu = (metrics.get(name) for name in ("valid_loss", "tokens_per_second", "mfu"))
        watch(replace(progress, validation=valid, tokens_per_second=speed, mfu=mfu))

    def save(self) -> None:
        """Replace the latest checkpoint. With `keep`, the last few stay under the names of their steps."""
        trainer, keep = self.trainer, self.trainer.options.keep
        trainer.ranks.decide(self.data.wait)
        tensors = checkpoint.collect(trainer.model, trainer.optimizer, keep=self.first)
        loss = trainer.total_loss()
        if self.first:
            with self.run.writing():
                if not self.replay:
                    self.run.journal.sync()
                progress = trainer.step, trainer.clock.seconds, self.journal
                state = LanguageModelState(*progress, loss, trainer.loss_steps)
                checkpoint.save(self.latest, self.owner, tensors, state)
                if keep > 1 and not self.replay:
                    _link(self.latest, self.folder.path / f"step_{trainer.step:09d}.pt")
                    for old in sorted(self.folder.path.glob("step_*.pt"))[:-keep]:
                        old.unlink()
        trainer.ranks.wait()

    def keep_branch_point(self) -> None:
        """Keep the checkpoint of this step for good: branches start from it."""
        if self.first:
            with self.run.writing():
                _link(self.latest, self.folder.branch_point(self.trainer.step))
                if self.replay:
                    self.latest.unlink()
        self.trainer.ranks.wait()

    def finish(self) -> None:
        """Write the result. From then on the budget is done."""
        trainer = self.trainer
        validation = self.validation or trainer.validate()  # none if it was stopped between its last step and this
        parameters = sum(weight.numel() for weight in trainer.model.parameters())
        ratio = added_ratio(trainer.config.model)
        measured = trainer.step, trainer.tokens, trainer.clock.seconds, parameters, ratio
        if self.first:
            self.run.finish(LanguageModelResult(self.run.id, *measured, *validation))
        trainer.ranks.wait()


def _link(path: Path, other: Path) -> None:
    """A second name for a file that is replaced, never changed."""
    with suppress(FileExistsError):
        os.link(path, other)
