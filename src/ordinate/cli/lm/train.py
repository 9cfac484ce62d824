"""`ordinate lm train`: one trunk, a branch for each budget."""

import json
import math
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from typer import Option

from ordinate.cli.console import console, table
from ordinate.cli.lm import request as shared
from ordinate.cli.lm.plan import describe, show
from ordinate.cli.options import AsJson
from ordinate.core.display import duration, escaped
from ordinate.core.errors import InputError, brief

if TYPE_CHECKING:
    from ordinate.cli.progress import Bar
    from ordinate.training import Progress


def run(
    size: shared.Size,
    encoding: shared.Encoding,
    settings: shared.Settings = None,
    budget: shared.Budget = None,
    branch_encoding: shared.BranchEncoding = None,
    branch_length: shared.BranchLength = None,
    branch_at: shared.BranchAt = None,
    data: shared.Data = None,
    root: shared.Root = shared.CHECKPOINTS,
    seed: shared.Seed = 42,
    device: shared.Device = "auto",
    threads: int | None = Option(None, help="Threads per process (default: all cores, divided among the processes)."),
    micro_batch: int | None = Option(
        None, help="Sequences per forward pass; gradients are accumulated over the batch."
    ),
    shard: str = Option("none", help="none, or fsdp2: shard the weights over the processes of torchrun."),
    compiled: bool = Option(False, "--compile", help="Use torch.compile: starts a minute later, then runs faster."),
    save_every: float = Option(300.0, help="Seconds between checkpoints."),
    keep: int = Option(1, help="Checkpoints to keep per segment, including the latest."),
    valid_every: int = Option(500, help="Steps between validations."),
    valid_tokens: int = Option(1_000_000, help="Tokens per validation, at most."),
    track: str = Option("", help="wandb, tensorboard, or both: wandb,tensorboard."),
    dry_run: bool = Option(False, "--dry-run", help="Show the plan and stop."),
    as_json: AsJson = False,
) -> None:
    """Train a language model to one or more budgets. An interrupted training is resumed."""
    if shard not in ("none", "fsdp2"):
        raise InputError(f"unknown shard {shard!r}: choose none or fsdp2")
    _check_limits(
        threads=threads, micro_batch=micro_batch, keep=keep, save_every=save_every, valid_every=valid_every,
        valid_tokens=valid_tokens,
    )  # fmt: skip
    with _exit_codes():
        from ordinate.cli.progress import Bar
        from ordinate.lm.branching import BranchedTraining
        from ordinate.lm.budgets import branch_config
        from ordinate.lm.checkpoint_folder import result_of
        from ordinate.lm.config import Options
        from ordinate.lm.ranks import joined
        from ordinate.lm.sinks import known
        from ordinate.lm.stream import check_fit
        from ordinate.model import pick_device
        from ordinate.results.serialize import write
        from ordinate.training import environment
        from ordinate.training.interruption import stop_requested

        trackers = tuple(known(name) for name in track.split(",") if name)
        change = shared.BranchChange(branch_encoding, branch_length, branch_at)
        request = shared.resolve_request(size, encoding, budget, data, seed, device, settings, change)
        options = Options(
            device=device, micro_batch=micro_batch, shard="fsdp2" if shard == "fsdp2" else "none", compiled=compiled,
            save_every=save_every, keep=keep, valid_every=valid_every, valid_tokens=valid_tokens, trackers=trackers,
        )  # fmt: skip
        chosen = pick_device(device)
        with environment.prepared(threads or _threads_per_process(), str(chosen)), joined(chosen) as ranks:
            for branch in request.branches:
                check_fit(branch_config(request.config, branch), request.corpus, ranks)
            if ranks.first:
                show(describe(request, root, device), sys.stderr)
            if dry_run:
                return
            training = BranchedTraining(request.config, request.corpus, root, options, ranks)
            with Bar(shown=ranks.first) as bar, stop_requested(bar.announce) as stop:
                folders = training.run(request.branches, lambda now: _show_progress(bar, now), stop)
        if ranks.first:
            _print_results([{"folder": str(folder), **(write(result_of(folder)) or {})} for folder in folders], as_json)


def _check_limits(**options: float | None) -> None:
    for name, value in options.items():
        if value is not None and not 1 <= value < 1e9:
            raise InputError(f"--{name.replace('_', '-')} must be at least 1 and below a billion, got {value:g}")


def _threads_per_process() -> int:
    """The cores of this machine, divided among its processes of torchrun."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(1, len(os.sched_getaffinity(0)) // processes if hasattr(os, "sched_getaffinity") else 1)


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Exit with 130 after an interruption, with 1 if the loss diverges or a rank is lost; rank 0 says why.

    From the first import on: loading torch takes seconds, in which a signal would end the program without a word.
    """
    from ordinate.lm.errors import DivergedError, LostRankError

    shown = os.environ.get("RANK", "0") == "0"
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt as interrupted:
        what = str(interrupted) or "nothing was saved since the last checkpoint"
        if shown:
            print(f"ordinate: stopped; {what}; start again to resume", file=sys.stderr)
        raise typer.Exit(130) from None
    except DivergedError as diverged:
        if shown:
            print(f"ordinate: {diverged}; what was saved before is kept", file=sys.stderr)
        raise typer.Exit(1) from None
    except LostRankError as lost:
        print(f"ordinate: {brief(str(lost))}; start again to resume from the last checkpoint", file=sys.stderr)
        raise typer.Exit(1) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_results(results: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(results, indent=1))
        return
    models = table("model", "tokens", "validation loss", "bits per byte", "seconds", left=("model",), folded="model")
    for row in results:
        losses = [f"{row[key]:.4f}" for key in ("valid_loss", "bits_per_byte")]
        models.add_row(escaped(row["folder"]), f"{row['tokens']:,}", *losses, f"{row['seconds']:.0f}")
    console(200).print(models)


def _show_progress(bar: "Bar", now: "Progress") -> None:
    """Draw the bar; without a terminal, print a line for every hundredth step and each validation."""
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
