"""`ordinate study run`: do the runs of a study that are missing, and print what they say."""

import sys

import typer
from typer import Option

from ordinate.cli.console import console, say
from ordinate.cli.lm.request import CHECKPOINTS, Data, Root
from ordinate.cli.options import RUNS, AsJson, ClusterAddress, ExecutorName, StoreFolder, StudyName, Workers
from ordinate.cli.study import language_models
from ordinate.cli.study.plan import print_plan
from ordinate.core.errors import InputError


def run(
    study: StudyName,
    workers: Workers = None,
    executor: ExecutorName = "local",
    address: ClusterAddress = None,
    store: StoreFolder = RUNS,
    data: Data = None,
    root: Root = CHECKPOINTS,
    as_json: AsJson = False,
    dry_run: bool = Option(False, "--dry-run", help="Print the runs, how many are done, time and disk; then stop."),
) -> None:
    """Run one comparison of a study after the other, then report it. The same command goes on where it was stopped."""
    if language_models.is_of_language_models(study, store, data, root):
        if executor != "local" or address is not None:
            raise InputError(f"{study} is of language models, which run on this machine: leave --executor out")
        language_models.run(study, workers, data, root, dry_run=dry_run, as_json=as_json)
        return
    if dry_run:
        print_plan(study, workers, store)
        return
    from ordinate.cli.progress import ComparisonDisplay
    from ordinate.core.extras import require_extra
    from ordinate.report import study_report
    from ordinate.store import open_store
    from ordinate.studies.executor import StudyStopped
    from ordinate.studies.forecast import forecast
    from ordinate.studies.study_file import load
    from ordinate.studies.study_outcome import study_outcome
    from ordinate.studies.study_run import job, progress

    require_extra("report")
    found, runs = load(study), open_store(store)
    missing = [part for part, at in zip(found.parts, progress(found, runs), strict=True) if at.stage != "done"]
    shared, failures = None, 0
    for number, part in enumerate(missing, start=1):
        made = job(found, part, store, workers, executor, address, shared)
        shared, expected = made.executor, forecast(made)
        say(f"[{number}/{len(missing)}] {part.name}: {expected.lines[-1]}", stderr=True)
        try:
            with ComparisonDisplay(runs, shared, expected.each) as display:
                last = number == len(missing)
                failures += len(made.carry_out(display.update, display.begin, last=last).failures)
        except (StudyStopped, KeyboardInterrupt):
            shared.close()
            print("ordinate: stopped; what is done is kept, the same command goes on", file=sys.stderr)
            raise typer.Exit(130) from None
    outcome = study_outcome(found, [runs])
    if as_json:
        print(study_report.render(outcome, "json"), end="")
    else:
        study_report.show(outcome, console())
    if failures:
        print(f"ordinate: {failures} runs failed; the same command tries them again", file=sys.stderr)
        raise typer.Exit(1)
