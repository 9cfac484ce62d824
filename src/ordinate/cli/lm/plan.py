"""`ordinate lm plan`: the segments of a training, and their cost."""

import json
import sys
from pathlib import Path
from typing import IO, Any

from ordinate.cli.console import console, table
from ordinate.cli.lm import request as shared
from ordinate.cli.options import AsJson
from ordinate.core.display import duration, escaped

PACES = {True: "at the speed of a step now, validation aside", False: "at half of this machine's matmul speed"}


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
    as_json: AsJson = False,
) -> None:
    """Show the trunk and one branch per budget: what is done, and the cost of the rest."""
    change = shared.BranchChange(branch_encoding, branch_length, branch_at)
    request = shared.resolve_request(size, encoding, budget, data, seed, device, settings, change)
    content = describe(request, root, device)
    if as_json:
        print(json.dumps(content, indent=1))
    else:
        show(content, sys.stdout)


def describe(request: shared.LMRequest, root: Path, device: str) -> dict[str, Any]:
    """The plan as plain data."""
    from ordinate.lm.added_size import added_ratio
    from ordinate.lm.branching import plan_segments
    from ordinate.lm.budgets import branch_config
    from ordinate.lm.pace import pace
    from ordinate.lm.sizes import flops_per_token, parameters
    from ordinate.model import pick_device

    config, corpus = request.config, request.corpus
    branched = branch_config(config, request.branches[0])  # one change for all of them
    planned = plan_segments(root, config, request.branches)
    tokens = sum(segment.steps for segment in planned) * config.step_tokens
    flops = config.step_tokens * sum(
        segment.steps * flops_per_token((branched if segment.what == "branch" else config).model) for segment in planned
    )
    network, own = parameters(config.model)
    speed = pace(config, None, corpus, str(pick_device(device))) if tokens else None
    return {
        "size": config.size, "encoding": config.encoding, "seed": config.seed, "precision": config.precision,
        "parameters": network, "encoding_parameters": own, "added_ratio": added_ratio(config.model),
        "data": str(corpus.folder),
        "corpus_tokens": corpus.tokens("train"), "step_tokens": config.step_tokens,
        "branch_encoding": branched.encoding, "branch_length": branched.model.length, "length": config.model.length,
        "warmup_steps": config.warmup, "budgets": [branch.budget for branch in request.branches],
        "segments": [
            {"what": segment.what, "folder": str(segment.folder), "begin": segment.begin, "end": segment.end,
             "tokens": segment.steps * config.step_tokens, "difference": list(segment.difference)}
            for segment in planned
        ],
        "tokens": tokens, "separate_tokens": sum(branch.end for branch in request.branches) * config.step_tokens,
        "flops": flops, "seconds": tokens * speed.clock if speed else 0.0, "timed": speed is not None and speed.timed,
    }  # fmt: skip


def show(plan: dict[str, Any], file: IO[str]) -> None:
    from ordinate.lm.added_size import LARGE
    from ordinate.lm.token_counts import write_tokens

    out = console(120, file)
    out.print(
        f"{plan['size']} with {plan['encoding']}: {plan['parameters'] + plan['encoding_parameters']:,} parameters, "
        f"{plan['step_tokens']:,} tokens a step, {plan['precision']}, data from {escaped(plan['data'])} "
        f"({plan['corpus_tokens']:,} tokens)"
    )
    if ratio := plan["added_ratio"]:
        times = f"what {plan['encoding']} adds is {ratio:.2g} times the size of the token embeddings at the start"
        drowned = ", so its result may come from that size alone: set its size=1 to match them"
        out.print(f"warning: {times}{drowned}" if ratio > LARGE else times)
    if (plan["branch_encoding"], plan["branch_length"]) != (plan["encoding"], plan["length"]):
        out.print(f"branches change to {plan['branch_encoding']} in a context of {plan['branch_length']:,} tokens")
    segments = table("", "from step", "to step", "tokens", "folder", left=("", "folder"), folded="folder")
    for segment in plan["segments"]:
        cost = write_tokens(segment["tokens"]) if segment["tokens"] else "done"
        segments.add_row(
            segment["what"], f"{segment['begin']:,}", f"{segment['end']:,}", cost, escaped(segment["folder"])
        )
    out.print(segments)
    for segment in plan["segments"]:
        if segment["difference"]:
            out.print(
                f"{escaped(segment['folder'])}, because the plain name is taken: {'; '.join(segment['difference'])}"
            )
    longest = max(plan["budgets"]) / plan["corpus_tokens"]
    out.print(
        f"{plan['tokens']:,} tokens to train"
        + (f" ({plan['separate_tokens']:,} if each budget were trained alone)" if len(plan["budgets"]) > 1 else "")
        + (f", about {duration(plan['seconds'])} {PACES[plan['timed']]}" if plan["tokens"] else "")
        + "; "
        f"the largest budget passes {longest:.2g} times over the data"
    )
