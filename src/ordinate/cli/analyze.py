"""`ordinate analyze`: the statistics alone, on anyone's results."""

import gc
import os
import sys
from pathlib import Path

import typer

from ordinate.cli.options import AsJson


def run(
    results: Path = typer.Argument(
        help="A CSV file: encoding, task, seed, length, split (id|ood|shift|valid), score; - for standard input."
    ),
    output: Path | None = typer.Option(None, "--output", "-o", help="Write a report to this file; - for stdout."),
    form: str | None = typer.Option(None, "--format", help="Of the report: html, md, csv, tex or json."),
    as_json: AsJson = False,
) -> None:
    """Words, intervals, tested pairs, reach, ranks and alarms for results that were made elsewhere.

    Optional columns: chance, n (sequences per score), bar (0.95), direction (higher or lower).
    """
    gc.disable()  # a million pairs make no cycles, and looking for some takes a sixth of the time
    try:
        _analyze(results, output, form, as_json)
    finally:
        gc.enable()


def _analyze(results: Path, output: Path | None, form: str | None, as_json: bool) -> None:
    from ordinate.statistics.analyze import analyze, few_seeds
    from ordinate.statistics.results_file import read_results

    if form is not None or output is not None or as_json:
        _report(results, output, "json" if as_json and form is None else form)
        return
    from rich.console import Console

    from ordinate.report.terminal import show

    read = read_results(results)
    analysis = analyze(read.observations, limits=read.limits, preliminary=few_seeds(read.observations))
    show(analysis, Console(width=None if sys.stdout.isatty() else 140, highlight=False, markup=False))


def _report(results: Path, output: Path | None, form: str | None) -> None:
    """The same page as a comparison has, without what a file cannot tell."""
    from ordinate import report
    from ordinate.core.errors import InputError, nearest
    from ordinate.report.output import deliver
    from ordinate.results.comparison import from_results
    from ordinate.statistics.analyze import analyze, few_seeds
    from ordinate.statistics.results_file import read_results

    suffix = "" if output is None else output.suffix.removeprefix(".")
    if output is not None and _same(output, results):
        raise InputError(f"-o {output} is the file of results itself: name another one for the report")
    if form is None and suffix and suffix not in report.FORMATS:
        raise InputError(f"-o {output} ends in .{suffix}, which no report does: {nearest(suffix, report.FORMATS)}")
    form = report.known(form or suffix or "html")
    read = read_results(results)
    analysis = analyze(read.observations, limits=read.limits, preliminary=few_seeds(read.observations))
    comparison = from_results(analysis, results)
    deliver(report.pieces(comparison, form), output)


def _same(output: Path, results: Path) -> bool:
    """Whether the report would go over the results themselves."""
    try:
        read = os.fstat(sys.stdin.fileno()) if str(results) == "-" else results.stat()
        return output.is_file() and os.path.samestat(output.stat(), read)
    except (OSError, ValueError):  # one of them is not there
        return False
