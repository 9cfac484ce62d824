"""`ordinate analyze`: the statistics alone, on anyone's results."""

import json
import sys
from pathlib import Path

import typer


def run(
    results: Path = typer.Argument(help="A CSV file: encoding, task, seed, length, split (id|ood|shift|valid), score."),
    as_json: bool = typer.Option(False, "--json", help="All of it as one JSON document on stdout."),
) -> None:
    """Words, intervals, paired tests, ranks and alarms for results that were made elsewhere.

    Optional columns: chance, n (sequences per score), bar (0.95), direction (higher or lower).
    """
    from dataclasses import asdict

    from ordinate.statistics.analyse import analyse
    from ordinate.statistics.results_file import read_results

    read = read_results(results)
    found = analyse(read.observations, limits=read.limits)
    if as_json:
        print(json.dumps(asdict(found), indent=1, allow_nan=False))
        return
    from rich.console import Console

    from ordinate.report.terminal import show

    show(found, Console(width=None if sys.stdout.isatty() else 140, highlight=False, markup=False))
