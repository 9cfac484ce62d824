"""The recipe of a run on a task, from setup to result: restore, then one step after the other, then scores."""

import math
import time
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.errors import InputError
from ordinate.core.seeds import generator, seed_of
from ordinate.core.task import UNSCORED, Batch, Task
from ordinate.model import Transformer, pick_device
from ordinate.model.inputs import check_inputs
from ordinate.results.run_result import Record, Status
from ordinate.store import Run, Store
from ordinate.training import checkpoint
from ordinate.training.config import RunConfig
from ordinate.training.data import PackedBatch, TrainingData, evaluation_sets, overlap, pack
from ordinate.training.evaluate import correct, evaluate
from ordinate.training.optimizer import apply_gradients
from ordinate.training.progress import Progress, ProgressCallback, TrainingClock
from ordinate.training.result import NORMS, Trained, keep_artifacts, run_result
from ordinate.training.schedule import ending, task_schedule
from ordinate.training.step_memory import counted_memory
from ordinate.training.task_checkpoint import NAME, TaskState, restore, task_optimizer

CURVE_SEQUENCES = 256  # of the validation set, for one point of the learning curve
CURVE_POINTS = 40  # of the learning curve, at most
CURVE_SHARE = 0.04  # of the training time that the learning curve may take, at most
SAVE_EVERY = 60.0  # seconds
EXPLODED = 100.0  # times the first loss


def check_every(config: RunConfig, task: Task) -> int:
    """Steps between two points of the learning curve: a pass over so many sequences forward, but not back."""
    width = task.width(max(config.test_lengths)) * min(CURVE_SEQUENCES, config.evaluation_sequences)
    low, high = (task.width(length) for length in (config.train_lengths[0], config.train_lengths[-1]))
    step = 3 * config.batch * (low + high) / 2  # back takes twice as long as forward
    return max(math.ceil(width / step / CURVE_SHARE), math.ceil(config.steps / CURVE_POINTS))


class TaskStepOutput(NamedTuple):
    loss: Tensor
    logits: Float[Tensor, "*answers classes"]
    gradient_norm: Tensor


class TaskRecipe:
    """The state of one run. All of it but the weights follows from the step and from `learned`."""

    def __init__(self, config: RunConfig, store: Store, run: Run, watch: ProgressCallback) -> None:
        self.config, self.store, self.run, self.watch = config, store, run, watch
        self.task = config.make_task()
        self.device = pick_device(config.device)
        with self.device:
            self.model = Transformer(config.model, seed=config.seed)
        self.optimizer = task_optimizer(config, self.model)
        self.data = TrainingData(config, self.task)
        self.sets = evaluation_sets(config, self.task)
        self.check_every = check_every(config, self.task)
        self.log_every = max(1, config.steps // 100)
        self.step, self.first_loss, self.clock = 0, math.nan, TrainingClock()
        self.status: Status = "finished"
        self.above: int | None = None  # the first of the checks at the bar that the last one belongs to
        self.learned: int | None = None  # the step of the second such check in a row: from there the rate decays

    @property
    def steps(self) -> int:
        """Where the run ends, as far as is known now."""
        return ending(self.config, self.learned)[1]

    def run_to_end(self) -> None:
        """Train from the last checkpoint, or from the start, to the end of the run, and write the result."""
        self._restore()
        saved_at = time.monotonic()
        self.clock.resume()
        while self.step < self.steps and self.status == "finished":
            parts = self.data.parts(self.step)
            batch = pack(parts)
            output = self.train_step(batch)
            self.step += 1
            self.clock.count(batch.tokens.numel())
            check = self.step % self.check_every == 0 or self.step == self.steps
            if check or self.step % self.log_every == 0 or self.step == 1:
                self._log(parts, output, check)
            if self.status != "finished" or time.monotonic() - saved_at > SAVE_EVERY:
                self._save()
                saved_at = time.monotonic()
        self.clock.pause()
        self._save()
        self._finish()

    def train_step(self, batch: PackedBatch) -> TaskStepOutput:
        """One step: forward, loss, backward, update. Dropout draws from a stream that the step names."""
        config, model = self.config, self.model
        model.train()
        torch.manual_seed(seed_of(config.seed, "dropout", self.step))
        tokens, targets = batch.tokens.to(self.device), batch.targets.to(self.device)
        positions, document_ids = (
            None if x is None else x.to(self.device) for x in (batch.positions, batch.document_ids)
        )
        logits = model(tokens, positions=positions, document_ids=document_ids)
        loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=UNSCORED)
        loss.backward()
        lr = task_schedule(config, self.learned).rate(self.step)
        gradient = apply_gradients(model, self.optimizer, lr=lr, clip=config.clip)
        return TaskStepOutput(loss.detach(), logits.detach(), gradient)

    def _restore(self) -> None:
        saved = restore(self.run, self.model, self.optimizer, self.config.steps)
        with self.run.writing():  # what followed the checkpoint will be written again
            self.run.journal.cut(saved.journal if saved else 0)
        if saved:
            self.step, self.first_loss = saved.step, saved.first_loss
            self.status = "diverged" if saved.status == "diverged" else "finished"
            self.clock, self.above, self.learned = TrainingClock(saved.seconds), saved.above, saved.learned
            self.run.log(f"continued at step {self.step}")
        else:
            self.run.log(f"started: {self.task.name}, {self.config.model.encoding}, {self.config.steps} steps")
            self._norms()

    def _log(self, parts: list[Batch], output: TaskStepOutput, check: bool) -> None:
        """Journal the step, and at points of the learning curve check whether the task is learned."""
        value, norm = output.loss.item(), output.gradient_norm.item()
        if math.isnan(self.first_loss):
            self.first_loss = value
        accuracy = self._accuracy(parts, output.logits.cpu())
        lr = task_schedule(self.config, self.learned).rate(self.step - 1)
        rows = {
            "loss": value,
            "accuracy": accuracy,
            "gradient_norm": norm,
            "lr": lr,
            "tokens_per_second": self.clock.tokens_per_second,
        }
        records = [self._record("train", None, name, number) for name, number in rows.items()]
        validation = None
        if not (math.isfinite(value) and math.isfinite(norm)) or value > EXPLODED * max(self.first_loss, 1.0):
            self.status = "diverged"
        elif check:
            validation = self._check(records)
        self._append(records)
        left = self.clock.seconds_left(self.steps - self.step)
        self.watch(Progress(self.step, self.steps, left, value, accuracy, validation, learned=self.learned is not None))

    def _accuracy(self, parts: list[Batch], logits: Tensor) -> float:
        """The accuracy on the batch just trained on."""
        right, count, at = 0.0, 0, 0
        flat = logits.flatten(0, -2)
        for part in parts:
            here = flat[at : at + part.targets.numel()].view(*part.targets.shape, -1)
            at += part.targets.numel()
            scored = next(iter(self.task.groups(part.tokens, part.targets).values()))
            right += correct(here, part.targets)[scored].sum().item()
            count += int(scored.sum())
        return right / max(1, count)

    def _check(self, records: list[Record]) -> float | None:
        """One point of the learning curve. Two in a row at the bar: the task is learned."""
        whole = next(s for s in self.sets if s.split == "valid")
        some = replace(whole, batch=whole.batch.rows(0, CURVE_SEQUENCES))
        self.model.eval()
        scores = evaluate(self.model, self.task, self.config, some, draws=1)
        if scores is None:
            return None
        records += [self._record("valid", some.length, name, value) for name, value in scores.values.items()]
        score = scores.of(self.task)
        if self.task.metric != "loss" and self.learned is None:
            at_bar = score >= self.task.bar
            if at_bar and self.above is not None:
                self.learned = self.step
            self.above = (self.above or self.step) if at_bar else None
        return score

    def _norms(self) -> None:
        """Journal the norm of token embeddings at the start, and of what the encoding adds to them."""
        self.model.eval()  # what an encoding drops in training would count as added
        with torch.no_grad():
            batch = pack(self.data.parts(0))
            tokens = batch.tokens.to(self.device)
            positions, document_ids = (
                None if x is None else x.to(self.device) for x in (batch.positions, batch.document_ids)
            )
            plain = F.embedding(tokens, self.model.embedding.weight)
            token_positions = check_inputs(self.config.model, self.model.parts, tokens, positions, None, document_ids)
            changed, *_ = self.model.embed_and_bind(plain, self.model.context(token_positions))
            added = (changed - plain).norm(dim=-1).mean().item()
        size = plain.norm(dim=-1).mean().item()
        if not math.isfinite(size + added):
            what = f"{self.config.model.encoding} changes token embeddings by {added:g}, and they are {size:g} long"
            raise InputError(f"{what}: nothing can be learned from that, choose other parameters")
        sizes = zip(NORMS, (size, added), strict=True)
        self._append([self._record("train", None, name, value) for name, value in sizes])

    def _append(self, records: list[Record]) -> None:
        self.run.record(records)

    def _record(self, split: str, length: int | None, metric: str, value: float) -> Record:
        kept = value if math.isfinite(value) else None  # JSON has no NaN
        return Record(self.run.id, self.step, split, length, metric, kept)

    def _save(self) -> None:
        """Write all that resuming from here needs."""
        with self.run.writing():
            journal = self.run.journal.sync()
            state = TaskState(
                self.step, self.clock.seconds, journal, self.run.journal.sum(journal), self.first_loss, self.status,
                self.above, self.learned,
            )  # fmt: skip
            tensors = checkpoint.collect(self.model, self.optimizer)
            checkpoint.save(self.run.folder / NAME, self.run.id, tensors, state)

    def _finish(self) -> None:
        """Evaluate everywhere, keep weights and attention maps, and write the result last."""
        self.model.eval()
        self.watch(Progress(self.step, self.steps, 0.0, learned=self.learned is not None, evaluating=True))
        records = []
        for chosen in self.sets:
            scores = None if self.status == "diverged" else evaluate(self.model, self.task, self.config, chosen)
            if scores is not None and not math.isfinite(scores.values["loss"]):
                self.status = "diverged"  # the last step went too far for any loss in training to show it
            for name, value in (scores.values if scores else {}).items():
                records.append(self._record(chosen.split, chosen.length, name, value))
        if self.status == "diverged":
            records = []  # the scores of diverged weights mean nothing
        keep_artifacts(self.run, self.model, self.config, self.task, self.sets)
        longest = self.task.sample(self.config.batch, self.config.train_lengths[-1], generator(0, "memory"), "train")
        trained = Trained(
            run=self.run.id,
            status=self.status,
            steps=self.step,
            learned_at=self.above if self.learned else None,
            parameters=sum(p.numel() for p in self.model.parameters()),
            encoding_parameters=sum(p.numel() for p in self.model.encodings.parameters()),
            memory=counted_memory(self.model, longest),
            seconds=self.clock.seconds,
        )
        # Batches are drawn again here: keeping every sequence of a run in memory would cost more than drawing them.
        journal, seen = list(self.run.records()), overlap(self.data, self.step, self.sets)
        self.run.finish(run_result(trained, self.config, self.store, self.task, self.sets, seen, records, journal))
        (self.run.folder / NAME).unlink(missing_ok=True)
        learned = f", learned at step {self.above}" if self.learned else ""
        self.run.log(f"{self.status} at step {self.step}{learned}")
