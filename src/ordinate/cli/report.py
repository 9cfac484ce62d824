"""`ordinate report`: a stored comparison as a page or as tables."""

from pathlib import Path

from typer import Argument, Option

from ordinate.cli.options import RUNS, StoreFolder
from ordinate.core.errors import InputError


def run(
    study: str = Argument("", help="The first digits of a study's id; default: the latest one."),
    output: Path | None = Option(None, "--output", "-o", help="File to write; - for stdout."),
    form: str = Option("html", "--format", help="html, md, csv, tex or json."),
    figures: bool = Option(False, "--figures", help="Also write every figure as PDF and PNG."),
    store: StoreFolder = RUNS,
) -> None:
    """Write the report of a comparison from its stored results; nothing is run."""
    from ordinate import report
    from ordinate.report.output import deliver
    from ordinate.store import open_store
    from ordinate.studies import study_store
    from ordinate.studies.collect import collect
    from ordinate.studies.study_state import StudyState

    report.known(form)
    if figures and (output is not None or form != "html"):
        raise InputError("--figures writes beside the page of the study: leave out -o and --format, or --figures")
    runs = open_store(store)
    kept = study_store.find(runs, study)
    comparison = collect(StudyState(kept.study, runs), kept.command)
    if not comparison.analysis.tasks:
        raise InputError(f"study {comparison.id} has no finished run to report yet: go on with  {kept.again}")
    if output is None and form == "html":
        print(report.write(comparison, kept.folder, figures=figures))
        return
    deliver(report.pieces(comparison, form), output)
