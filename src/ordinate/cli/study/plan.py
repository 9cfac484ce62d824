"""`ordinate study plan`: what a study would run, and how long that takes."""

from pathlib import Path

from ordinate.cli.console import AtWork, say
from ordinate.cli.lm.request import CHECKPOINTS, Data, Root
from ordinate.cli.options import RUNS, StoreFolder, StudyName, Workers
from ordinate.cli.study import language_models


@AtWork("planning the comparisons")
def run(
    study: StudyName,
    workers: Workers = None,
    store: StoreFolder = RUNS,
    data: Data = None,
    root: Root = CHECKPOINTS,
) -> None:
    """Print the comparisons of a study: runs, how many are done, time and disk. Nothing is run."""
    if language_models.is_of_language_models(study, store, data, root):
        language_models.run(study, workers, data, root, dry_run=True, as_json=False)
    else:
        print_plan(study, workers, store)


def print_plan(study: str, workers: int | None, store: Path) -> None:
    """The forecast of each comparison."""
    from ordinate.studies.forecast import forecast
    from ordinate.studies.study_file import load
    from ordinate.studies.study_run import job

    found = load(study)
    say(f"{found.title}: {found.question}")
    for part in found.parts:
        lines = forecast(job(found, part, store, workers)).lines
        say("", part.name, *(f"  {line}" for line in lines))
