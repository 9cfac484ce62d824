"""`ordinate lm compare`: language models that differ in their encoding, over several seeds."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Option

from ordinate.cli.console import console, say
from ordinate.cli.lm import request as shared
from ordinate.cli.lm.eval import read_configuration
from ordinate.cli.lm.running import carry_out, default_workers
from ordinate.cli.options import AsJson, Workers, read_settings
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.studies.lm.study import LMStudy
    from ordinate.text.corpus import Corpus


def run(
    size: shared.Size,
    settings: shared.Settings = None,
    encodings: str = Option("rope,alibi,sinusoidal,none", "--encodings", "-e", help="Encodings, as in rope,alibi."),
    seeds: int = Option(3, help="Seeds of each encoding, from 42 on; a claim takes at least 5."),
    budget: str | None = Option(None, help="Tokens of each run, as in 2.5M (default: that of the size)."),
    data: shared.Data = None,
    root: shared.Root = shared.CHECKPOINTS,
    device: shared.Device = "auto",
    workers: Workers = None,
    config: Path | None = Option(None, "--config", help="A TOML file of what to evaluate, as for `lm eval`."),
    output: Path | None = Option(None, "--output", "-o", help="Write a page (.html), or md, csv, tex or json."),
    dry_run: bool = Option(False, "--dry-run", help="Print the runs, how many are done, time and disk; then stop."),
    as_json: AsJson = False,
) -> None:
    """Train and evaluate language models with several encodings and seeds, and test their losses.

    Runs are those of `lm train` and `lm eval`. The same command goes on where it was stopped.
    """
    from ordinate.report.lm_comparison import render, show
    from ordinate.report.output import put

    if output is not None and output.suffix.removeprefix(".") not in ("html", "md", "csv", "tex", "json"):
        raise InputError(f"-o {output} ends in no format of a report: choose .html, .md, .csv, .tex or .json")
    processes = default_workers(workers)
    study, corpus = _study(size, encodings, seeds, budget, data, device, settings, config, root)
    outcome, failed = carry_out(study, corpus, root, device, processes, study.typed, dry_run=dry_run)
    if outcome is None:
        return
    if output is not None:
        put(output, render(outcome, output.suffix.removeprefix(".")))
        say(str(output), stderr=True)
    if as_json:
        print(render(outcome, "json"), end="")
    else:
        show(outcome, console(120))
    if failed:
        raise typer.Exit(1)


def _study(
    size: str, encodings: str, seeds: int, budget: str | None, data: Path | None, device: str,
    settings: list[str] | None, config: Path | None, root: Path,
) -> "tuple[LMStudy, Corpus]":  # fmt: skip
    """The comparison as a study of one part, and the text it is on."""
    from ordinate.core.parsing import split
    from ordinate.lm.token_counts import parse_tokens
    from ordinate.studies.lm.comparison import EVALUATION, ModelArm
    from ordinate.studies.lm.study import LMPart, LMStudy

    arms = tuple(ModelArm(text.strip()) for text in split(encodings, ",") if text.strip())
    given = read_settings(None, settings, ("encoding", "seed", "seeds", "budget"))
    evaluation = EVALUATION if config is None else read_configuration(config, "", "")
    wanted = None if budget is None else parse_tokens(budget)
    part = LMPart("comparison", "", size, arms, seeds, wanted, shared.precision(device) | given, evaluation)
    corpus = shared.find_corpus(data, part.comparison("").text_vocabulary)
    names = part.comparison(corpus.fingerprint).names
    options = {
        "--size": size, "--encodings": ",".join(names), "--seeds": str(seeds), "--budget": budget,
        "--data": None if data is None else str(data),
        "--checkpoints": None if root == shared.CHECKPOINTS else str(root),
        "--config": None if config is None else str(config),
    }  # fmt: skip
    words = [word for name, value in options.items() if value is not None for word in (name, value)]
    command = shlex.join(["ordinate", "lm", "compare", *words, *(settings or [])])
    title = f"{size} language models on {corpus.folder.name}"
    return LMStudy("comparison", command, title, "", "", (part,)), corpus
