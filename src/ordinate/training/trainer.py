"""Training on a task, from top to bottom: claim the run, restore it, take the steps, score, and write the result."""

import logging
import math
import os
import time
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator, seed_of
from ordinate.core.task import UNSCORED, Batch, Task
from ordinate.model import Transformer, pick_device
from ordinate.model.inputs import check_inputs
from ordinate.results.run_result import Norms, Record, RunResult, Status
from ordinate.statistics.phrases import training_words
from ordinate.store import Run, Store
from ordinate.store.claim import LostClaimError
from ordinate.training import checkpoint, environment
from ordinate.training.checkpoint import NAME, NORMS, TaskState, restore
from ordinate.training.config import RunConfig
from ordinate.training.data import PackedBatch, TrainingData, evaluation_sets, overlap, pack
from ordinate.training.evaluate import batch_accuracy, evaluate
from ordinate.training.interruption import Interrupted, StopCallback, never
from ordinate.training.optimizer import apply_gradients, ending, task_optimizer, task_schedule
from ordinate.training.progress import Progress, ProgressCallback, TrainingClock, silent
from ordinate.training.result import evaluation_rows, keep_artifacts
from ordinate.training.step_memory import counted_memory

CURVE_SEQUENCES = 256  # of the validation set, for one point of the learning curve
CURVE_POINTS = 40  # of the learning curve, at most
CURVE_SHARE = 0.04  # of the training time that the learning curve may take, at most
SAVE_EVERY = 60.0  # seconds
EXPLODED = 100.0  # times the first loss


def train(config: RunConfig, store: Store, watch: ProgressCallback = silent, stop: StopCallback = never) -> Run:
    """Do the run unless it is done; resume it if it was interrupted. If another process is doing it, wait for it.

    `watch` gets the progress. `stop` is called after every step; once it returns true, training is interrupted.
    """
    run = store.run(config.id)
    if run.done:
        _check_problems(config, run)
    else:
        store.check_writable()
    while not attempt(config, store, watch, stop):
        if stop():
            raise Interrupted(f"another process is doing run {run.id}")
        time.sleep(0.2)
    return run


def attempt(config: RunConfig, store: Store, watch: ProgressCallback = silent, stop: StopCallback = never) -> bool:
    """Do the run unless another process is doing it; return whether it is done. An error is kept in its folder.

    A run that another process took over, because this one was silent for too long, is left to that process.
    """
    run = store.run(config.id)
    if run.done:
        return True
    with run.claimed() as mine:
        if not mine:
            return run.done
        try:
            with environment.prepared(config.threads, config.device):
                run.begin(to_dict(config), environment.describe())
                TaskTrainer(config, store, run, watch, stop).run_to_end()
        except LostClaimError as lost:
            run.log(str(lost))
            logging.getLogger("ordinate").warning("ordinate: %s", lost)  # to stderr by default
            return run.done
        except Exception as error:
            run.fail(error)
            raise
    return True


class TaskStepOutput(NamedTuple):
    loss: Tensor
    logits: Float[Tensor, "*answers classes"]
    gradient_norm: Tensor


class TaskTrainer:
    """The state of one run. All of it but the weights follows from the step and from `learned`."""

    def __init__(
        self, config: RunConfig, store: Store, run: Run, watch: ProgressCallback = silent, stop: StopCallback = never
    ) -> None:
        self.config, self.store, self.run, self.watch, self.stop = config, store, run, watch, stop
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
            stopping = self.stop()
            if stopping or self.status != "finished" or time.monotonic() - saved_at > SAVE_EVERY:
                self._save()
                saved_at = time.monotonic()
            if stopping:
                raise self._interrupted()
        self.clock.pause()
        self._save()
        self._finish()

    def train_step(self, batch: PackedBatch) -> TaskStepOutput:
        """One step: forward, loss, backward, update. Dropout draws from a stream that the step names."""
        config, model, batch = self.config, self.model, batch.to(self.device)
        model.train()
        torch.manual_seed(seed_of(config.seed, "dropout", self.step))
        logits = model(batch.tokens, positions=batch.positions, document_ids=batch.document_ids)
        loss = F.cross_entropy(logits.flatten(0, -2), batch.targets.flatten(), ignore_index=UNSCORED)
        loss.backward()
        lr = task_schedule(config, self.learned).rate(self.step)
        norm = apply_gradients(model, self.optimizer, lr=lr, clip=config.clip)
        return TaskStepOutput(loss.detach(), logits.detach(), norm)

    def _restore(self) -> None:
        exists = os.path.lexists(self.run.folder / NAME)
        saved = restore(self.run, self.model, self.optimizer, self.config.steps) if exists else None
        with self.run.writing():  # what followed the checkpoint will be written again
            self.run.journal.cut(saved.journal if saved else 0)
        if saved:
            self.step, self.first_loss = saved.step, saved.first_loss
            self.status = "diverged" if saved.status == "diverged" else "finished"
            self.clock, self.above, self.learned = TrainingClock(saved.seconds), saved.above, saved.learned
            self.run.log(f"continued at step {self.step}")
        else:
            self.run.log(f"started: {self.task.name}, {self.config.model.encoding}, {self.config.steps} steps")
            self._record_norms()

    def _log(self, parts: list[Batch], output: TaskStepOutput, check: bool) -> None:
        """Journal the step, and at points of the learning curve check whether the task is learned."""
        loss, norm = output.loss.item(), output.gradient_norm.item()
        if math.isnan(self.first_loss):
            self.first_loss = loss
        accuracy = batch_accuracy(self.task, parts, output.logits.cpu())
        lr = task_schedule(self.config, self.learned).rate(self.step - 1)
        metrics = dict(loss=loss, accuracy=accuracy, gradient_norm=norm, lr=lr)
        records = self._records("train", None, metrics | {"tokens_per_second": self.clock.tokens_per_second})
        validation = None
        if not (math.isfinite(loss) and math.isfinite(norm)) or loss > EXPLODED * max(self.first_loss, 1.0):
            self.status = "diverged"
        elif check:
            validation = self._check(records)
        self.run.record(records)
        left = self.clock.seconds_left(self.steps - self.step)
        self.watch(Progress(self.step, self.steps, left, loss, accuracy, validation, learned=self.learned is not None))

    def _check(self, records: list[Record]) -> float | None:
        """One point of the learning curve. Two in a row at the bar: the task is learned."""
        whole = next(s for s in self.sets if s.split == "valid")
        some = replace(whole, batch=whole.batch.rows(0, CURVE_SEQUENCES))
        self.model.eval()
        scores = evaluate(self.model, self.task, self.config, some, draws=1)
        if scores is None:
            return None
        records += self._records("valid", some.length, scores)
        score = scores[self.task.metric]
        if self.task.metric != "loss" and self.learned is None:
            at_bar = score >= self.task.bar
            if at_bar and self.above is not None:
                self.learned = self.step
            self.above = (self.above or self.step) if at_bar else None
        return score

    def _record_norms(self) -> None:
        """Journal the norm of token embeddings at the start, and of what the encoding adds to them."""
        model, batch = self.model, pack(self.data.parts(0)).to(self.device)
        model.eval()  # what an encoding drops in training would count as added
        with torch.no_grad():
            plain = F.embedding(batch.tokens, model.embedding.weight)
            positions = check_inputs(
                self.config.model, model.parts, batch.tokens, batch.positions, None, batch.document_ids
            )
            changed, *_ = model.embed_and_bind(plain, model.context(positions))
            size, added = (vectors.norm(dim=-1).mean().item() for vectors in (plain, changed - plain))
        if not math.isfinite(size + added):
            what = f"{self.config.model.encoding} changes token embeddings by {added:g}, and they are {size:g} long"
            raise InputError(f"{what}: nothing can be learned from that, choose other parameters")
        self.run.record(self._records("train", None, dict(zip(NORMS, (size, added), strict=True))))

    def _records(self, split: str, length: int | None, metrics: dict[str, float]) -> list[Record]:
        values = {name: value if math.isfinite(value) else None for name, value in metrics.items()}  # JSON has no NaN
        return [Record(self.run.id, self.step, split, length, name, value) for name, value in values.items()]

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

    def _interrupted(self) -> Interrupted:
        return Interrupted(f"{self.run.folder / NAME} holds step {self.step:,} of {self.steps:,}")

    def _finish(self) -> None:
        """Evaluate everywhere, keep weights and attention maps, and write the result last."""
        config, task, model = self.config, self.task, self.model
        model.eval()
        self.watch(Progress(self.step, self.steps, 0.0, learned=self.learned is not None, evaluating=True))
        scores = self._score()
        keep_artifacts(self.run, model, config, task, self.sets)
        longest = task.sample(config.batch, config.train_lengths[-1], generator(0, "memory"), "train")
        journal = list(self.run.records())
        # Batches are drawn again here: keeping every sequence of a run in memory would cost more than drawing them.
        seen = overlap(self.data, self.step, self.sets)
        result = RunResult(
            run=self.run.id, task=config.task, status=self.status, steps=self.step,
            learned_at=self.above if self.learned else None,
            parameters=sum(p.numel() for p in model.parameters()),
            encoding_parameters=sum(p.numel() for p in model.encodings.parameters()),
            metric=task.metric, direction=task.direction, bar=None if task.metric == "loss" else task.bar,
            evaluation=tuple(evaluation_rows(config, self.store, task, self.sets, scores, seen)),
            norms=Norms(**{r.metric: r.value or 0.0 for r in journal if r.metric in NORMS}),
            # the learning curve and the scores; the rest of the journal stays where it is: a result is read often
            records=tuple([r for r in journal if r.split == "valid"] + [r for r in scores if r.split != "valid"]),
            memory=counted_memory(model, longest), seconds=self.clock.seconds,
        )  # fmt: skip
        self.run.finish(result)
        (self.run.folder / NAME).unlink(missing_ok=True)
        told = result.bar is not None and not result.diverged
        how = f": {training_words(result.training_end(), result.bar)}" if told else ""
        self.run.log(f"{self.status} at step {self.step}{how}")

    def _score(self) -> list[Record]:
        """The scores on every set; none if the run diverged, because those of diverged weights mean nothing."""
        records: list[Record] = []
        for chosen in self.sets if self.status == "finished" else ():
            if self.stop():
                raise self._interrupted()
            scores = evaluate(self.model, self.task, self.config, chosen) or {}
            if not math.isfinite(scores.get("loss", 0.0)):
                self.status = "diverged"  # the last step went too far for any loss in training to show it
                return []
            records += self._records(chosen.split, chosen.length, scores)
        return records


def check_every(config: RunConfig, task: Task) -> int:
    """Steps between two points of the learning curve: a pass over so many sequences forward, but not back.

    Where a fixed dataset is trained on for a fixed time, points lie at the ends of epochs.
    """
    width = task.width(max(config.test_lengths)) * min(CURVE_SEQUENCES, config.evaluation_sequences)
    low, high = (task.width(length) for length in (config.train_lengths[0], config.train_lengths[-1]))
    step = 3 * config.batch * (low + high) / 2  # back takes twice as long as forward
    steps = max(math.ceil(width / step / CURVE_SHARE), math.ceil(config.steps / CURVE_POINTS))
    epoch = math.ceil(config.dataset / config.batch) if config.dataset and config.budget == "fixed" else 1
    return epoch * math.ceil(steps / epoch)


def _check_problems(config: RunConfig, run: Run) -> None:
    """Refuse a stored result whose task has changed since: the same name, but other problems."""
    now = {(s.split, s.length): s.hash for s in evaluation_sets(config, config.make_task())}
    if now != run.result.hashes:
        raise InputError(f"run {run.id} was scored on other problems than {config.task} gives now: use another store")
