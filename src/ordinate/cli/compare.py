"""`ordinate compare`: encodings on tasks, from plan to report."""

import sys
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from ordinate.cli.console import console, say
from ordinate.cli.options import (
    RUNS,
    AsJson,
    ClusterAddress,
    Encodings,
    ExecutorName,
    SettingsFile,
    StoreFolder,
    Workers,
    read_settings,
)
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.results.comparison import Comparison
    from ordinate.studies.compare import Job
    from ordinate.studies.plan import Seeds, Study


def run(
    tasks: str = Argument(help="Tasks, as in k_back or k_back,first_last or 'k_back(k=5)'."),
    settings: list[str] = Argument(None, metavar="[KEY=VALUE ...]", help="Settings, as in steps=300 layers=4."),
    encodings: Encodings = None,
    seeds: str | None = Option(
        None, help="Seeds (default: 6, more for many pairs), or auto: until every pair is settled."
    ),
    quick: bool = Option(False, "--quick", help="3 seeds, one learning rate for all; results are preliminary."),
    within: str | None = Option(None, help="Time limit, as in 10m: reduces width, then budget, then seeds to fit."),
    rates: str | None = Option(None, help="Learning rates to start from (default: 0.001,0.003,0.01)."),
    workers: Workers = None,
    executor: ExecutorName = "local",
    address: ClusterAddress = None,
    store: StoreFolder = RUNS,
    file: SettingsFile = None,
    as_json: AsJson = False,
    dry_run: bool = Option(False, "--dry-run", help="Print the runs, how many are done, time and disk; then stop."),
    estimate: bool = Option(
        True, "--estimate/--no-estimate", help="Try each model, and time a few steps of it, before the start."
    ),
    yes: bool = Option(False, "--yes", "-y", help="Start without confirmation, however many runs are planned."),
) -> None:
    """Compare encodings on tasks: tune each, train several seeds, recommend one, and write a report."""
    from ordinate.core.extras import require_extra
    from ordinate.studies.compare import prepare
    from ordinate.studies.executor import StudyStopped

    require_extra("report")
    given = read_settings(file, settings, ("task", "encoding"))
    job = prepare(
        tasks, encodings, seeds=_seeds(seeds), quick=quick, rates=_rates(rates), within=_time(within), store=store,
        workers=workers, executor=executor, address=address, settings=given, try_models=estimate,
    )  # fmt: skip
    if not (yes or dry_run):
        _confirm(job.study)
    if estimate or dry_run:
        print("timing a few steps of each encoding", file=sys.stderr, flush=True)
    each = announce(job) if estimate or dry_run else 0.0
    if dry_run:
        return
    from ordinate.cli.progress import ComparisonDisplay

    try:
        with ComparisonDisplay(job.store, job.executor, each) as display:
            comparison = job.carry_out(display.update, display.begin)
    except (StudyStopped, KeyboardInterrupt):
        print("ordinate: stopped; what is done is kept, the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None
    finish(comparison, job, as_json=as_json)


def _time(text: str | None) -> float | None:
    """Seconds in `90s`, `10m`, `1.5h`."""
    if text is None:
        return None
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("s", "m", "h") else (text, "m")
    try:
        seconds = float(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except ValueError:
        seconds = float("nan")
    if not 0 < seconds < float("inf"):
        raise InputError(f"--within wants a time, as in 90s, 10m or 1.5h, got {text!r}")
    return seconds


def _seeds(text: str | None) -> "Seeds | None":
    if text is None or text == "auto":
        return "auto" if text else None
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--seeds wants a number or auto, got {text!r}") from None


def _rates(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"--rates wants numbers with commas between them, got {text!r}") from None


def _confirm(study: "Study") -> None:
    """Wait for a confirmation before a very large comparison starts."""
    from ordinate.studies.plan import MANY

    if study.size <= MANY:
        return
    if not sys.stdin.isatty():
        fix = "choose fewer seeds, encodings or tasks, or give --yes to start it"
        raise InputError(f"this is a comparison of {study.size:,} runs: {fix}")
    if not typer.confirm(f"This is a comparison of {study.size:,} runs. Start it?", err=True):
        raise typer.Exit(2)


def announce(job: "Job") -> float:
    """Print the forecast; return the seconds that one run takes."""
    from ordinate.studies.forecast import forecast

    found = forecast(job)
    say(*found.lines, stderr=True)
    return found.each


def finish(comparison: "Comparison", job: "Job", *, as_json: bool) -> None:
    """Print the summary, and write the report."""
    from ordinate import report
    from ordinate.report.terminal import show
    from ordinate.report.verdict_reason import reasons_by_task

    try:  # print even if no page can be written; write a page even if stdout is closed
        if as_json:
            print(report.render(comparison, "json"))
        else:
            show(comparison.analysis, console(), reasons_by_task(comparison))
        sys.stdout.flush()
    finally:
        print("\nwriting the report", file=sys.stderr)
        say(f"Report: {report.write(comparison, job.folder)}", stderr=True)
    if comparison.failures:
        first = next(iter(comparison.failures.values()))
        damaged = any(run.state == "damaged" for run in comparison.runs)
        look = f"ordinate store check{job.store.option} shows more"
        what_next = look if damaged else "the same command tries them again"
        say(f"ordinate: {len(comparison.failures)} runs failed ({first}); {what_next}", stderr=True)
        raise typer.Exit(1)
