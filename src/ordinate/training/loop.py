"""Training one run, from its configuration to its result."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator, seed_of
from ordinate.core.task import UNSCORED, Batch
from ordinate.model import Transformer, pick_device
from ordinate.model.edge import arrive
from ordinate.store import Run, Store
from ordinate.store.files import Record
from ordinate.training import checkpoint, environment
from ordinate.training.config import RunConfig
from ordinate.training.data import TrainingData, evaluation_sets, overlap
from ordinate.training.evaluate import correct, evaluate
from ordinate.training.footprint import memory
from ordinate.training.optimiser import make_optimiser
from ordinate.training.result import keep_artefacts, summarise
from ordinate.training.schedule import rate

CHECKPOINTS = 10  # of the learning curve
SAVE_EVERY = 60.0  # seconds, between the checkpoints of the learning curve
EXPLODED = 100.0  # times the first loss


@dataclass(frozen=True)
class Progress:
    """How far a run is, for whoever watches."""

    step: int
    steps: int
    loss: float
    accuracy: float
    seconds_left: float
    validation: float | None = None  # at the checkpoints of the learning curve
    evaluating: bool = False  # training is over, scoring is not


Watch = Callable[[Progress], None]


def train(config: RunConfig, store: Store, watch: Watch | None = None) -> Run:
    """Do the run unless it is done; go on where it was interrupted. If another process is at it, wait for that one."""
    run = store.run(config.id)
    if run.done:
        check_sets(config, run)
    else:
        store.check_writable()
    while not attempt(config, store, watch):
        time.sleep(0.2)
    return run


def attempt(config: RunConfig, store: Store, watch: Watch | None = None) -> bool:
    """Do the run unless another process is at it; tells whether it is done now. An error stays in its folder."""
    run = store.run(config.id)
    if run.done:
        return True
    with run.claimed() as mine:
        if not mine:
            return run.done
        try:
            with environment.prepared(config.threads, config.device):
                run.begin(to_dict(config), environment.describe())
                _Training(config, store, run, watch or (lambda progress: None)).go()
        except Exception as error:
            run.fail(error)
            raise
    return True


def check_sets(config: RunConfig, run: Run) -> None:
    """Refuse an old result whose task has been changed since: the name is the same, the problems are not."""
    now = {(s.split, s.length): s.hash for s in evaluation_sets(config, config.make_task())}
    then = {(row["split"], row["length"]): row["hash"] for row in run.result["evaluation"]}
    if now != then:
        raise InputError(f"run {run.id} was scored on other problems than {config.task} gives now: use another store")


class _Training:
    """The state of one run while it lasts. All of it but the weights follows from the step."""

    def __init__(self, config: RunConfig, store: Store, run: Run, watch: Watch) -> None:
        self.config, self.store, self.run, self.watch = config, store, run, watch
        self.task = config.make_task()
        self.device = pick_device(config.device)
        with self.device:
            self.model = Transformer(config.model, seed=config.seed)
        self.optimiser = make_optimiser(config, self.model)
        self.data = TrainingData(config, self.task)
        self.sets = evaluation_sets(config, self.task)
        self.marks = {math.ceil(config.steps * (i + 1) / CHECKPOINTS) for i in range(CHECKPOINTS)}
        self.log_every = max(1, config.steps // 100)
        self.step, self.first_loss, self.status, self.seconds = 0, math.nan, "finished", 0.0

    def go(self) -> None:
        saved = checkpoint.load(self.run.folder, self.run.id, self.model, self.optimiser)
        if saved:
            self.step, self.first_loss, self.status = saved["step"], saved["first_loss"], saved["status"]
            self.seconds = saved["seconds"]
            self.run.journal.cut(saved["journal"])
            self.run.log(f"continued at step {self.step}")
        else:
            self.run.journal.cut(0)
            self.run.log(f"started: {self.task.name}, {self.config.model.encoding}, {self.config.steps} steps")
            self._norms()
        begin = saved_at = time.monotonic()
        before, first_step = self.seconds, self.step
        seen, ended = 0, self.status != "finished" or self._solved_before(saved)
        while self.step < self.config.steps and not ended:
            batch = self.data.batch(self.step)
            loss, logits, gradient = self._update(batch)
            self.step += 1
            seen += batch.tokens.numel()
            logging, mark = self.step % self.log_every == 0 or self.step == 1, self.step in self.marks
            if logging or mark:
                now = time.monotonic()
                left = (now - begin) / (self.step - first_step) * (self.config.steps - self.step)
                ended = self._journal(batch, loss, logits, gradient, seen / (now - begin), left, mark)
            if ended or mark or time.monotonic() - saved_at > SAVE_EVERY:
                self.seconds = before + time.monotonic() - begin
                self._save()
                saved_at = time.monotonic()
        self._finish()

    def _update(self, batch: Batch) -> tuple[Tensor, Float[Tensor, "*asked classes"], Tensor]:
        """One step of the optimiser. Dropout draws from a stream named by the step."""
        config, model = self.config, self.model
        model.train()
        if config.model.dropout > 0:
            torch.manual_seed(seed_of(config.seed, "dropout", self.step))
        positions = None if batch.positions is None else batch.positions.to(self.device)
        logits = model(batch.tokens.to(self.device), positions=positions)
        targets = batch.targets.to(self.device)
        loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=UNSCORED)
        loss.backward()
        gradient = nn.utils.clip_grad_norm_(model.parameters(), config.clip or math.inf)
        for group in self.optimiser.param_groups:
            group["lr"] = rate(config, self.step)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return loss.detach(), logits.detach(), gradient

    def _journal(
        self, batch: Batch, loss: Tensor, logits: Tensor, gradient: Tensor, speed: float, left: float, mark: bool
    ) -> bool:
        """Write down how the run goes; tells whether it has to end here."""
        value, norm = loss.item(), gradient.item()
        if math.isnan(self.first_loss):
            self.first_loss = value
        scored = next(iter(self.task.groups(batch.tokens, batch.targets).values()))
        accuracy = correct(logits.cpu(), batch.targets)[scored].float().mean().item()
        rows = {"loss": value, "accuracy": accuracy, "gradient_norm": norm, "lr": rate(self.config, self.step - 1)}
        records = [self._record("train", None, name, number) for name, number in rows.items()]
        records.append(self._record("train", None, "tokens_per_second", speed))
        validation = None
        if not (math.isfinite(value) and math.isfinite(norm)) or value > EXPLODED * max(self.first_loss, 1.0):
            self.status = "diverged"
        elif mark:
            validation = self._validate(records)
        self.run.journal.append(records)
        self.run.beat()
        self.watch(Progress(self.step, self.config.steps, value, accuracy, left, validation))
        solved = validation is not None and self._at_bar(validation)
        return self.status == "diverged" or (self.config.stop_when_solved and solved)

    def _validate(self, records: list[Record]) -> float | None:
        """One point of the learning curve."""
        chosen = next(s for s in self.sets if s.split == "valid")
        self.model.eval()
        scores = evaluate(self.model, self.task, self.config, chosen)
        if scores is None:
            return None
        records += [self._record("valid", chosen.length, name, value) for name, value in scores.values.items()]
        return scores.of(self.task)

    def _at_bar(self, score: float) -> bool:
        return self.task.metric != "loss" and score >= self.task.bar

    def _solved_before(self, saved: dict[str, object] | None) -> bool:
        """Whether the run had stopped early, at the bar, when it was interrupted."""
        if not saved or not self.config.stop_when_solved or self.step not in self.marks:
            return False
        metric = self.task.metric
        curve = [r for r in self.run.journal.read() if r["split"] == "valid" and r["metric"] == metric]
        return bool(curve) and self._at_bar(curve[-1]["value"])

    def _norms(self) -> None:
        """How large token embeddings are at the start, and how much the encoding changes them."""
        with torch.no_grad():
            batch = self.data.batch(0)
            tokens = batch.tokens.to(self.device)
            positions = None if batch.positions is None else batch.positions.to(self.device)
            plain = F.embedding(tokens, self.model.embedding.weight)
            place, _ = arrive(self.config.model, self.model.parts, tokens, positions)
            changed, _ = self.model.begin(plain, self.model.pair(place, None, None))
            added = (changed - plain).norm(dim=-1).mean().item()
        size = plain.norm(dim=-1).mean().item()
        self.run.journal.append(
            [self._record("train", None, "embedding_norm", size), self._record("train", None, "encoding_norm", added)]
        )

    def _record(self, split: str, length: int | None, metric: str, value: float) -> Record:
        kept = value if math.isfinite(value) else None  # JSON has no NaN
        return {
            "run": self.run.id,
            "step": self.step,
            "split": split,
            "length": length,
            "metric": metric,
            "value": kept,
        }

    def _save(self) -> None:
        """Keep all that is needed to go on from here."""
        if not self.run.mine():
            raise InputError(f"run {self.run.id} was taken over by another process: this one stops")
        self.run.beat()  # saves come at least twice in the silence after which a run counts as dead; records may not
        state = {
            "step": self.step, "first_loss": self.first_loss, "status": self.status, "seconds": self.seconds,
            "journal": self.run.journal.sync(),
        }  # fmt: skip
        checkpoint.save(self.run.folder, self.run.id, self.model, self.optimiser, state)

    def _finish(self) -> None:
        """Evaluate everywhere, keep weights and attention maps, and write the result last."""
        self.model.eval()
        self.watch(Progress(self.step, self.config.steps, math.nan, math.nan, 0.0, evaluating=True))
        records = []
        for chosen in self.sets:
            self.run.beat()
            scores = None if self.status == "diverged" else evaluate(self.model, self.task, self.config, chosen)
            if scores is not None and not math.isfinite(scores.values["loss"]):
                self.status = "diverged"  # the last step went too far for any loss in training to show it
            for name, value in (scores.values if scores else {}).items():
                records.append(self._record(chosen.split, chosen.length, name, value))
        if self.status == "diverged":
            records = []  # what broken weights score is nobody's result
        keep_artefacts(self.run, self.model, self.config, self.task, self.sets)
        result = summarise(
            self.config, self.store, self.task, self.sets, records, list(self.run.journal.read()), self.status
        )
        shown = overlap(self.data, self.step, self.sets)
        for row, chosen in zip(result["evaluation"], self.sets, strict=True):
            row["seen"] = shown[chosen.hash]
        weights = sum(p.numel() for p in self.model.parameters())
        own = sum(p.numel() for p in self.model.encodings.parameters())
        longest = self.task.sample(self.config.batch, self.config.train_lengths[-1], generator(0, "memory"), "train")
        self.run.finish(
            {
                "status": self.status, "steps": self.step, "parameters": weights, "encoding_parameters": own, **result,
                "memory": memory(self.model, longest), "timing": {"seconds": self.seconds},
            }
        )  # fmt: skip
        (self.run.folder / checkpoint.NAME).unlink(missing_ok=True)
        self.run.log(f"{self.status} at step {self.step}")
