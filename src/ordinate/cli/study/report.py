"""`ordinate study report`: what a study has found so far."""

from pathlib import Path

from typer import Option

from ordinate.cli.console import AtWork, console
from ordinate.cli.lm.request import CHECKPOINTS, Data, Root
from ordinate.cli.options import RUNS, StoreFolder, StudyName
from ordinate.cli.study import language_models


@AtWork("reading the results")
def run(
    study: StudyName,
    output: Path | None = Option(None, "--output", "-o", help="File to write; - for stdout."),
    form: str | None = Option(None, "--format", help="html, md, csv, tex or json; default: text for a terminal."),
    store: StoreFolder = RUNS,
    data: Data = None,
    root: Root = CHECKPOINTS,
) -> None:
    """Print what a study has found, from stored results; those that come with the program fill what is missing."""
    if language_models.is_of_language_models(study, store, data, root):
        language_models.report(study, output, form, data, root)
    else:
        report(study, output, form, store)


def report(study: str, output: Path | None, form: str | None, store: Path) -> None:
    """The report of a study, on the terminal or as a file."""
    from ordinate.report import format_of, study_report
    from ordinate.report.output import deliver
    from ordinate.store import open_store
    from ordinate.store.examples import open_examples
    from ordinate.studies.study_file import load
    from ordinate.studies.study_outcome import study_outcome

    form = format_of(form, output)
    outcome = study_outcome(load(study), [open_store(store), open_examples()])
    if form is None:
        study_report.show(outcome, console())
    else:
        deliver([study_report.render(outcome, form)], output)
