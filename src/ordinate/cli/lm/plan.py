"""`ordinate lm plan`: what training would do, and what it would cost."""

import json
import sys
from pathlib import Path
from typing import Any

from ordinate.cli.lm.request import (
    CHECKPOINTS,
    Budget,
    Data,
    Device,
    Encoding,
    LMRequest,
    Root,
    Seed,
    Settings,
    Size,
    resolve_request,
)  # fmt: skip
from ordinate.cli.options import AsJson, read_settings

SHARE = 0.5  # of the speed of a large product, which training reaches about half of


def run(
    size: Size,
    encoding: Encoding,
    settings: Settings = None,
    budget: Budget = None,
    data: Data = None,
    root: Root = CHECKPOINTS,
    seed: Seed = 42,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show the trunk and the branches of some budgets, what of them is done, and what the rest costs."""
    request = resolve_request(size, encoding, budget, data, seed, device, read_settings(None, settings, ("encoding",)))
    content = describe(request, root, device)
    if as_json:
        print(json.dumps(content, indent=1))
    else:
        show(content, sys.stdout)


def describe(request: LMRequest, root: Path, device: str) -> dict[str, Any]:
    """The plan as plain data."""
    import torch

    from ordinate.lm.hardware import matmul_rate
    from ordinate.lm.plan import plan_segments
    from ordinate.lm.sizes import flops_per_token, parameters
    from ordinate.model import pick_device

    config, corpus = request.config, request.corpus
    planned = plan_segments(root, config, request.branches)
    tokens = sum(segment.steps for segment in planned) * config.step_tokens
    flops = tokens * flops_per_token(config.model)
    network, own = parameters(config.model)
    peak = matmul_rate(pick_device(device), getattr(torch, config.precision))
    return {
        "size": config.size, "encoding": config.encoding, "seed": config.seed, "precision": config.precision,
        "parameters": network, "encoding_parameters": own, "data": str(corpus.folder),
        "corpus_tokens": corpus.tokens("train"), "step_tokens": config.step_tokens,
        "warmup_steps": config.warmup, "budgets": [branch.budget for branch in request.branches],
        "segments": [
            {"what": segment.what, "folder": str(segment.folder), "begin": segment.begin, "end": segment.end,
             "tokens": segment.steps * config.step_tokens, "difference": list(segment.difference)}
            for segment in planned
        ],
        "tokens": tokens, "separate_tokens": sum(branch.end for branch in request.branches) * config.step_tokens,
        "flops": flops, "seconds": flops / (peak * SHARE),
    }  # fmt: skip


def show(plan: dict[str, Any], file: Any) -> None:
    """The plan as a person reads it."""
    from rich.console import Console
    from rich.table import Table

    from ordinate.core.display import duration
    from ordinate.lm.token_counts import write_tokens

    console = Console(file=file, highlight=False, markup=False, width=None if file.isatty() else 120)
    console.print(
        f"{plan['size']} with {plan['encoding']}: {plan['parameters'] + plan['encoding_parameters']:,} parameters, "
        f"{plan['step_tokens']:,} tokens a step, {plan['precision']}, data from {plan['data']} "
        f"({plan['corpus_tokens']:,} tokens)"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "from step", "to step", "tokens", "folder"):
        right = "step" in column or column == "tokens"
        table.add_column(column, justify="right" if right else "left", no_wrap=column != "folder", overflow="fold")
    for segment in plan["segments"]:
        cost = write_tokens(segment["tokens"]) if segment["tokens"] else "done"
        table.add_row(segment["what"], f"{segment['begin']:,}", f"{segment['end']:,}", cost, segment["folder"])
    console.print(table)
    for segment in plan["segments"]:
        if segment["difference"]:
            console.print(f"{segment['folder']}, because the plain name is taken: {'; '.join(segment['difference'])}")
    longest = max(plan["budgets"]) / plan["corpus_tokens"]
    console.print(
        f"{plan['tokens']:,} tokens to train"
        + (f" ({plan['separate_tokens']:,} if each budget were trained alone)" if len(plan["budgets"]) > 1 else "")
        + f", about {duration(plan['seconds'])} at half of this machine's matmul speed; "
        f"the largest budget passes {longest:.2g} times over the data"
    )
