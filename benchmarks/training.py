"""The whole training loop: data, step, metrics and journal; and evaluation at four times the trained length."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.measure import Row, compare, in_turns
from benchmarks.pad import padded
from benchmarks.step import theirs
from ordinate import tasks
from ordinate.core.seeds import generator
from ordinate.core.task import Batch
from ordinate.store import Store
from ordinate.training.config import RunConfig, resolve
from ordinate.training.data import EvaluationSet, PackedBatch, evaluation_set, pack
from ordinate.training.environment import keep_memory
from ordinate.training.evaluate import _score, evaluate
from ordinate.training.trainer import CURVE_SEQUENCES, TaskTrainer

SHAPE = dict(dim=64, heads=4, layers=2, dropout=0.0, batch=64)


class Borrowed(nn.Module):
    """x-transformers behind the call that our loop makes."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__()
        m = config.model
        self.net = theirs(dim=m.dim, heads=m.heads, layers=m.layers, length=512, flash=True)
        self.embedding = self.net.token_emb.emb

    def forward(self, tokens: Tensor, *, positions: Tensor | None = None, document_ids: Tensor | None = None) -> Tensor:
        return self.net(tokens)


class Runs(ExitStack):
    """Runs at their first step, claimed until the `with` ends: a journal is written only under a claim."""

    def __init__(self, **sizes: object) -> None:
        super().__init__()
        self.sizes = SHAPE | sizes
        self.folder = Path(self.enter_context(tempfile.TemporaryDirectory()))

    def begin(self, task: str, *, borrowed: bool = False, **settings: object) -> TaskTrainer:
        """On our model or on theirs, in a store of its own."""
        encoding = "none" if borrowed else "rope"
        config = resolve({"task": task, "encoding": encoding, "steps": 10_000, **self.sizes, **settings})
        store = Store(Path(tempfile.mkdtemp(dir=self.folder)))
        run = store.run(config.id)
        run.folder.mkdir(parents=True)
        assert self.enter_context(run.claimed())
        begun = TaskTrainer(config, store, run)
        if borrowed:
            begun.model = Borrowed(config)  # type: ignore[assignment]
            begun.optimizer = torch.optim.AdamW(begun.model.parameters(), lr=1e-4, fused=True)
        return begun


def turn(begun: TaskTrainer, make: Callable[[list[Batch]], PackedBatch]) -> None:
    """One step as the loop does it, with the journal at its own pace (one step in a hundred)."""
    parts = begun.data.parts(begun.step)
    output = begun.train_step(make(parts))
    begun.step += 1
    if begun.step % begun.log_every == 0 and make is pack:
        begun._log(parts, output, False)


def whole_step(runs: Runs, rounds: int) -> list[Row]:
    ours, other = runs.begin("k_back"), runs.begin("k_back", borrowed=True)
    times = in_turns(
        {"ours, packed": lambda: turn(ours, pack), "x-transformers, padded": lambda: turn(other, padded)}, rounds=rounds
    )
    return [compare(times, "ours, packed", "x-transformers, padded", required="<= 1.00", goal="0.85")]


def per_token(runs: Runs, rounds: int, encodings: Sequence[str]) -> list[Row]:
    """Mixed batches against one length a step, by real tokens: each of 25 steps in turn, its best time."""
    rows = []
    for encoding in encodings:
        mixed, single = (runs.begin("k_back", encoding=encoding) for _ in range(2))
        many = [pack(mixed.data.parts(step)) for step in range(25)]
        drawn = [single.task.sample(64, n, generator(0, "bench", n), "train") for n in range(8, 33)]
        alike = [PackedBatch(batch.tokens, batch.targets, None, None) for batch in drawn]
        work = {f"mixed {i}": (lambda t=mixed, b=b: t.train_step(b)) for i, b in enumerate(many)}
        work |= {f"single {i}": (lambda t=single, b=b: t.train_step(b)) for i, b in enumerate(alike)}
        times = in_turns(work, rounds=max(min(3, rounds), rounds // 10))
        cost = {
            kind: sum(min(times[f"{kind} {i}"]) for i in range(25)) / sum(b.tokens.numel() for b in batches)
            for kind, batches in (("mixed", many), ("single", alike))
        }
        ratio = cost["mixed"] / cost["single"]
        rows.append(Row(f"{encoding}: mixed lengths", "one length a step", ratio, ratio, ratio, "<= 1.15"))
    return rows


def shares(runs: Runs, rounds: int, names: list[str]) -> list[Row]:
    """Data, checks, journal and final scores as shares of training at each task's own budget."""
    rows = []
    for name in names:
        encoding = "rope_2d" if tasks.create(name).axes == 2 else "rope"
        config = resolve({"task": name, "encoding": encoding})
        begun = runs.begin(name, encoding=encoding, steps=config.steps)
        step, parts = [0], begun.data.parts(0)
        batch = pack(parts)
        output = begun.train_step(batch)
        valid = next(s for s in begun.sets if s.split == "valid")
        some = replace(valid, batch=valid.batch.rows(0, CURVE_SEQUENCES))

        def draw(begun: TaskTrainer = begun, step: list[int] = step) -> None:
            step[0] += 1
            pack(begun.data.parts(step[0]))

        def check(begun: TaskTrainer = begun, some: EvaluationSet = some) -> None:
            evaluate(begun.model.eval(), begun.task, begun.config, some, draws=1)

        def score(begun: TaskTrainer = begun) -> None:
            for chosen in begun.sets:
                evaluate(begun.model.eval(), begun.task, begun.config, chosen)

        update = lambda t=begun, b=batch: t.train_step(b)  # noqa: E731
        journal = lambda t=begun, o=(parts, output): t._log(*o, False)  # noqa: E731
        times = in_turns({"data": draw, "step": update, "journal": journal, "check": check}, rounds=rounds)
        scoring = min(in_turns({"scores": score}, rounds=2)["scores"])
        best = min(times["step"])
        for what, cost, bound in (
            ("data", sum(times["data"]) / len(times["data"]), "<= 0.03"),  # drawn in blocks: the mean, not the best
            ("journal", min(times["journal"]) / begun.log_every, "<= 0.02"),
            ("checks", min(times["check"]) / begun.check_every, "<= 0.05"),
            ("final scores", scoring / config.steps, "<= 0.10"),
        ):
            rows.append(Row(f"{name}: {what}", "training", cost / best, cost / best, cost / best, bound))
    return rows


def evaluation(runs: Runs, rounds: int, sequences: int) -> list[Row]:
    ours, other = runs.begin("k_back").model.eval(), runs.begin("k_back", borrowed=True).model.eval()
    task = tasks.create("k_back")
    frozen = evaluation_set(task, "k_back", "ood", 128, sequences).batch
    tokens = frozen.tokens

    def reference() -> None:
        """At its best here: inference mode, in one go or in chunks, whichever is faster."""
        with torch.inference_mode():
            for part in torch.split(tokens, 32):
                other(part)

    def whole() -> None:
        with torch.inference_mode():
            other(tokens)

    times = in_turns(
        {"ours": lambda: _score(ours, task, frozen), "x-transformers": reference, "x-transformers, whole": whole},
        rounds=rounds,
    )
    best = min(("x-transformers", "x-transformers, whole"), key=lambda name: min(times[name]))
    return [compare(times, "ours", best, required="<= 0.95", goal="0.75")]


def run(rounds: int = 60, tiny: bool = False) -> dict[str, list[Row]]:
    torch.set_num_threads(1)
    keep_memory()
    few = 1 if tiny else 5
    with Runs(**(dict(batch=4, evaluation_sequences=20) if tiny else {})) as runs:
        return {
            "Whole training step with data and metrics (d64, 4 heads, 2 layers, batch 64, lengths 8-32, one thread)": (
                whole_step(runs, 100 if tiny else 2 * rounds)  # a hundred steps write the journal
            ),
            "A step with mixed lengths, by real tokens": per_token(
                runs, rounds, ("none",) if tiny else ("none", "rope", "t5", "learned")
            ),
            "Shares of training at default budgets": shares(
                runs, max(rounds // 3, few), ["k_back"] if tiny else tasks.names()
            ),
            "Evaluation at 4 times the trained length (scores included in ours)": evaluation(
                runs, max(rounds // 4, few), 8 if tiny else 256
            ),
        }
