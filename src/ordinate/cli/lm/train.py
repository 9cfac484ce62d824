"""`ordinate lm train`: one trunk, a branch for each budget."""

import json
import math
import os
import sys
from typing import TYPE_CHECKING, Any

import typer

from ordinate.cli.lm.plan import describe, show
from ordinate.cli.lm.request import (
    CHECKPOINTS,
    Budget,
    Data,
    Device,
    Encoding,
    Root,
    Seed,
    Settings,
    Size,
    resolve_request,
)  # fmt: skip
from ordinate.cli.options import AsJson, read_settings
from ordinate.core.display import duration
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.cli.progress import Bar
    from ordinate.training import Progress


def run(
    size: Size,
    encoding: Encoding,
    settings: Settings = None,
    budget: Budget = None,
    data: Data = None,
    root: Root = CHECKPOINTS,
    seed: Seed = 42,
    device: Device = "auto",
    threads: int | None = typer.Option(None, "--threads", help="Of each process; by default all cores are shared out."),
    micro_batch: int | None = typer.Option(
        None, "--micro-batch", help="Sequences of one pass; the rest is accumulated."
    ),
    shard: str = typer.Option("none", "--shard", help="none, or fsdp2: weights cut over the processes of torchrun."),
    compiled: bool = typer.Option(False, "--compile", help="torch.compile: a minute to start, then faster."),
    save_every: float = typer.Option(300.0, "--save-every", help="Seconds between checkpoints."),
    keep: int = typer.Option(1, "--keep", help="Checkpoints to keep of each segment, the latest among them."),
    valid_every: int = typer.Option(500, "--valid-every", help="Steps between validations."),
    valid_tokens: int = typer.Option(1_000_000, "--valid-tokens", help="Tokens of a validation, at most."),
    track: str = typer.Option("", "--track", help="wandb, tensorboard, or both: wandb,tensorboard."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show the plan and stop."),
    as_json: AsJson = False,
) -> None:
    """Train a language model to one or more budgets; resume where it was stopped."""
    from ordinate.cli.progress import Bar
    from ordinate.lm.config import Options
    from ordinate.lm.lm_recipe import DivergedError
    from ordinate.lm.ranks import joined
    from ordinate.lm.result import result_of
    from ordinate.lm.sinks import known
    from ordinate.lm.stream import check_fit
    from ordinate.lm.train import LMTraining
    from ordinate.model import pick_device
    from ordinate.results.schema import write
    from ordinate.training import environment
    from ordinate.training.interruption import Interrupted, stop_requested

    if shard not in ("none", "fsdp2"):
        raise InputError(f"unknown shard {shard!r}: choose none or fsdp2")
    checked = {"threads": threads, "micro-batch": micro_batch, "keep": keep, "save-every": save_every}
    for name, value in (checked | {"valid-every": valid_every, "valid-tokens": valid_tokens}).items():
        if value is not None and not 1 <= value < 1e9:
            raise InputError(f"--{name} must be at least 1 and below a billion, got {value:g}")
    trackers = tuple(known(name) for name in track.split(",") if name)
    request = resolve_request(size, encoding, budget, data, seed, device, read_settings(None, settings, ("encoding",)))
    options = Options(
        device=device, micro_batch=micro_batch, shard="fsdp2" if shard == "fsdp2" else "none", compiled=compiled,
        save_every=save_every, keep=keep, valid_every=valid_every, valid_tokens=valid_tokens, trackers=trackers,
    )  # fmt: skip
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # processes on this machine
    own = threads or max(1, len(os.sched_getaffinity(0)) // here if hasattr(os, "sched_getaffinity") else 1)
    chosen = pick_device(device)
    with environment.prepared(own, str(chosen)), joined(chosen) as ranks:
        check_fit(request.config, request.corpus, ranks)
        if ranks.first:
            show(describe(request, root, device), sys.stderr)
        if dry_run:
            return
        training = LMTraining(request.config, request.corpus, root, options, ranks)
        try:
            with Bar(shown=ranks.first) as bar, stop_requested() as stop:
                folders = training.run(request.branches, lambda now: _show(bar, now), stop)
        except Interrupted as interrupted:
            if ranks.first:
                print(f"ordinate: stopped; {interrupted}; start again to resume", file=sys.stderr)
            raise typer.Exit(130) from None
        except KeyboardInterrupt:
            print("ordinate: interrupted; start again to resume from the last checkpoint", file=sys.stderr)
            raise typer.Exit(130) from None
        except DivergedError as diverged:
            print(f"ordinate: {diverged}; what was saved before is kept", file=sys.stderr)
            raise typer.Exit(1) from None
    if ranks.first:
        _tell([{"folder": str(folder), **(write(result_of(folder)) or {})} for folder in folders], as_json)


def _tell(results: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(results, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("model", overflow="fold")
    for column in ("tokens", "validation loss", "bits per byte", "seconds"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in results:
        cells = (
            f"{row['tokens']:,}",
            f"{row['valid_loss']:.4f}",
            f"{row['bits_per_byte']:.4f}",
            f"{row['seconds']:.0f}",
        )
        table.add_row(row["folder"], *cells)
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 200).print(table)


def _show(bar: "Bar", now: "Progress") -> None:
    """A line for each hundred steps and each validation where there is no terminal."""
    parts = [f"{now.step:,}/{now.steps:,}"]
    parts += [] if math.isnan(now.loss) else [f"loss {now.loss:.3f}"]
    parts += [] if now.validation is None else [f"validation {now.validation:.3f}"]
    if now.tokens_per_second is not None and now.mfu is not None:
        parts.append(f"{now.tokens_per_second:,.0f} tokens/s ({now.mfu:.0%} of matmul)")
        parts.append(f"{duration(now.seconds_left)} left")
    text = "  ".join(parts)
    bar.draw(now.name, now.step / now.steps, text)
    if now.step % 100 == 0 or now.validation is not None:
        bar.say(f"{now.name}  step {text}")
