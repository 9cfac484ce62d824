"""`ordinate analyze`: the statistics alone, on results from elsewhere."""

import gc
import os
import sys
from pathlib import Path

from typer import Argument, Option

from ordinate.cli.console import AtWork, console
from ordinate.cli.options import AsJson
from ordinate.core.errors import InputError


@AtWork("analyzing the results")
def run(
    results: Path = Argument(
        help="A CSV file: encoding, task, seed, length, split (id|ood|shift|valid), score; - for standard input."
    ),
    output: Path | None = Option(None, "--output", "-o", help="Write a report to this file; - for stdout."),
    form: str | None = Option(None, "--format", help="Format of the report: html, md, csv, tex or json."),
    as_json: AsJson = False,
) -> None:
    """Analyze results from elsewhere: verdicts, intervals, tested pairs, reach, ranks and alarms.

    Optional columns: chance, n (sequences per score), bar (0.95), direction (higher or lower).
    """
    gc.disable()  # a million pairs make no cycles, and looking for some takes a sixth of the time
    try:
        _analyze(results, output, form, as_json)
    finally:
        gc.enable()


def _analyze(results: Path, output: Path | None, form: str | None, as_json: bool) -> None:
    from ordinate import report
    from ordinate.report.output import deliver
    from ordinate.report.terminal import show
    from ordinate.results.comparison import from_results
    from ordinate.statistics.analyze import analyze, few_seeds
    from ordinate.statistics.results_file import read_results

    form = "json" if as_json and form is None else form
    if output is not None and _same(output, results):
        raise InputError(f"-o {output} is the file of results itself: name another one for the report")
    form = report.format_of(form, output)
    read = read_results(results)
    analysis = analyze(read.observations, limits=read.limits, preliminary=few_seeds(read.observations))
    if form is None:
        show(analysis, console())
    else:  # the report of a comparison, without the parts that need its runs
        deliver(report.pieces(from_results(analysis, results), form), output)


def _same(output: Path, results: Path) -> bool:
    """Whether the report would overwrite the results."""
    try:
        read = os.fstat(sys.stdin.fileno()) if str(results) == "-" else results.stat()
        return output.is_file() and os.path.samestat(output.stat(), read)
    except (OSError, ValueError):  # one of them is not there
        return False
