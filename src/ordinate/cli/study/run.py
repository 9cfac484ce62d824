"""`ordinate study run`: do the runs of a study that are missing, and print what they say."""

import sys

import typer
from typer import Option

from ordinate.cli.console import console
from ordinate.cli.options import RUNS, AsJson, StoreFolder, StudyName, Workers
from ordinate.cli.study.plan import print_plan


def run(
    study: StudyName,
    workers: Workers = None,
    store: StoreFolder = RUNS,
    as_json: AsJson = False,
    dry_run: bool = Option(False, "--dry-run", help="Print the runs, how many are done, time and disk; then stop."),
) -> None:
    """Run one comparison of a study after the other, then report it. The same command goes on where it was stopped."""
    if dry_run:
        print_plan(study, workers, store)
        return
    from ordinate.cli.progress import ComparisonDisplay
    from ordinate.core.extras import require_extra
    from ordinate.report import study_report
    from ordinate.studies.executor import StudyStopped
    from ordinate.studies.forecast import forecast
    from ordinate.studies.study_file import load
    from ordinate.studies.study_outcome import study_outcome
    from ordinate.studies.study_run import job

    require_extra("report")
    found, failures = load(study), 0
    for number, part in enumerate(found.parts, start=1):
        made = job(found, part, store, workers)
        expected = forecast(made)
        print(f"[{number}/{len(found.parts)}] {part.name}: {expected.lines[-1]}", file=sys.stderr)
        if not expected.missing:
            continue
        try:
            with ComparisonDisplay(made.store, made.executor, expected.each) as display:
                failures += len(made.carry_out(display.update, display.begin).failures)
        except (StudyStopped, KeyboardInterrupt):
            print("ordinate: stopped; what is done is kept, the same command goes on", file=sys.stderr)
            raise typer.Exit(130) from None
    outcome = study_outcome(found, [made.store])
    if as_json:
        print(study_report.render(outcome, "json"), end="")
    else:
        study_report.show(outcome, console())
    if failures:
        print(f"ordinate: {failures} runs failed; the same command tries them again", file=sys.stderr)
        raise typer.Exit(1)
