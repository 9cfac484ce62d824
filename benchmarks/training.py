"""The whole training loop: data, step, metrics and journal; and evaluation at four times the trained length."""

import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.measure import Row, compare, in_turns
from benchmarks.step import theirs
from ordinate import tasks
from ordinate.core.seeds import generator
from ordinate.store import Store
from ordinate.training.config import RunConfig, resolve
from ordinate.training.data import evaluation_set
from ordinate.training.environment import keep_memory
from ordinate.training.evaluate import _score
from ordinate.training.loop import _Training

SHAPE = dict(dim=128, heads=4, layers=2, dropout=0.0, batch=64)


class Borrowed(nn.Module):
    """x-transformers behind the call that our loop makes."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__()
        m = config.model
        self.net = theirs(dim=m.dim, heads=m.heads, layers=m.layers, length=512, flash=True)
        self.embedding = self.net.token_emb.emb

    def forward(self, tokens: Tensor, *, positions: Tensor | None = None) -> Tensor:
        return self.net(tokens)


def training(folder: Path, task: str, *, borrowed: bool = False, **settings: object) -> _Training:
    """A run at its first step, on our model or on theirs."""
    config = resolve({"task": task, "encoding": "none" if borrowed else "rope", "steps": 10_000, **SHAPE, **settings})
    run = Store(folder).run(config.id)
    run.folder.mkdir(parents=True, exist_ok=True)
    made = _Training(config, Store(folder), run, lambda progress: None)
    if borrowed:
        made.model = Borrowed(config)  # type: ignore[assignment]
        made.optimiser = torch.optim.AdamW(made.model.parameters(), lr=1e-4, fused=True)
    return made


def turn(made: _Training) -> None:
    """One step as the loop does it, with the journal at its own pace (one step in a hundred)."""
    batch = made.data.batch(made.step)
    loss, logits, gradient = made._update(batch)
    made.step += 1
    if made.step % made.log_every == 0:
        made._journal(batch, loss, logits, gradient, 0.0, 0.0, False)


def whole_step(folder: Path, rounds: int) -> list[Row]:
    ours = training(folder, "k_back", train_lengths=32)
    other = training(folder, "k_back", borrowed=True, train_lengths=32)
    a, b = torch.randn(512, 512), torch.randn(512, 512)
    times = in_turns(
        {"ours": lambda: turn(ours), "x-transformers": lambda: turn(other), "matmul": lambda: a @ b}, rounds=rounds
    )
    row = compare(times, "ours", "x-transformers", required="<= 1.00", goal="0.92")
    matrices = sum(p.numel() for n, p in ours.model.named_parameters() if "embedding" not in n)
    rate = 6 * matrices * 64 * 32 / min(times["ours"])
    peak = 2 * 512**3 / min(times["matmul"])
    return [row, Row("ours", "SGEMM of one thread (share)", rate / peak, rate / peak, rate / peak, "", "0.65")]


def shares(folder: Path, rounds: int) -> list[Row]:
    """Data and journal as shares of the step of the same task."""
    rows = []
    for name in tasks.names():
        encoding = "rope_2d" if tasks.create(name).axes == 2 else "rope"
        made = training(folder, name, encoding=encoding, steps=600)  # the default, which journals every sixth step
        step, length = [0], made.task.train_lengths[1]

        def draw(made: _Training = made, step: list[int] = step) -> None:
            step[0] += 1
            made.data.batch(step[0])

        batch = made.task.sample(64, length, generator(0, "bench"))
        update = lambda made=made, batch=batch: made._update(batch)  # noqa: E731
        loss, logits, gradient = made._update(batch)
        journal = lambda m=made, b=batch, o=(loss, logits, gradient): m._journal(b, *o, 0.0, 0.0, False)  # noqa: E731
        times = in_turns({"data": draw, "step": update, "journal": journal}, rounds=rounds)
        best = min(times["step"])
        for what, cost, bound in (
            ("data", min(times["data"]), "<= 0.03"),
            ("journal", min(times["journal"]) / made.log_every, "<= 0.02"),
        ):
            rows.append(Row(f"{name}: {what}", "step", cost / best, cost / best, cost / best, bound))
    return rows


def evaluation(folder: Path, rounds: int) -> list[Row]:
    ours, other = training(folder, "k_back").model.eval(), training(folder, "k_back", borrowed=True).model.eval()
    task = tasks.create("k_back")
    frozen = evaluation_set(task, "k_back", "ood", 128, 256).batch
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


def run(rounds: int = 60) -> dict[str, list[Row]]:
    torch.set_num_threads(1)
    keep_memory()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return {
            "Whole training step with data and metrics (d128, 4 heads, 2 layers, batch 64, length 32, one thread)": (
                whole_step(folder, 2 * rounds)
            ),
            "Data and journal as shares of a step": shares(folder, max(rounds // 3, 5)),
            "Evaluation at 4 times the trained length (scores included in ours)": evaluation(
                folder, max(rounds // 4, 5)
            ),
        }
