"""`ordinate study probe`: measure what the trained models of a study do, and store it beside their runs."""

import sys

import typer

from ordinate.cli.console import AtWork, say
from ordinate.cli.options import RUNS, StoreFolder, StudyName, Workers


def run(study: StudyName, workers: Workers = None, store: StoreFolder = RUNS) -> None:
    """Probe the finished runs of a study that kept their weights. What is stored already is not measured again.

    Every reported run is measured by depth: position, rank, attention and gradients of each layer, trained and
    untrained. The first seed of each encoding that learned the task gets all probes of `ordinate probe`.
    """
    from ordinate.core.errors import InputError
    from ordinate.store import open_store
    from ordinate.studies.lm import study_file as lm_study_file
    from ordinate.studies.local import usable_cores
    from ordinate.studies.probed_study import plan_probes, probe_missing
    from ordinate.studies.study_file import load

    if study in lm_study_file.names():
        raise InputError(f"{study} is of language models: probe one of their checkpoints, as in ordinate probe FOLDER")
    if workers is not None and workers < 0:
        raise InputError(f"workers must be at least 0 (none: all in this process), got {workers}")
    runs = open_store(store)
    runs.check_writable()
    with AtWork("reading the results"):
        plan = plan_probes(load(study), runs)
    count, failed = len(plan.missing), 0
    if not plan.done + count + plan.without_weights:
        say(f"no run of {study} is finished yet: ordinate study run {study}{runs.option}", stderr=True)
        return
    say(f"{plan.done + count} records of probes, {plan.done} stored already", stderr=True)
    if plan.without_weights:
        say(f"{plan.without_weights} finished runs kept no weights and cannot be probed", stderr=True)
    wanted = min(count, len(usable_cores()) if workers is None else workers)
    try:
        for number, (task, problem) in enumerate(probe_missing(plan, runs, wanted) if count else (), start=1):
            failed += bool(problem)
            say(f"[{number}/{count}] {task.run} {task.what}{': ' * bool(problem)}{problem}", stderr=True)
    except KeyboardInterrupt:
        print("ordinate: stopped; what is done is kept, the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None
    if failed:
        raise typer.Exit(1)
