"""`ordinate report`: a stored comparison or study as a page or as tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from ordinate.cli.console import AtWork, console, say
from ordinate.cli.lm.request import CHECKPOINTS, Data, Root
from ordinate.cli.options import RUNS, StoreFolder
from ordinate.core.errors import InputError

if TYPE_CHECKING:
    from ordinate.store import Store
    from ordinate.studies.study_store import StoredStudy


@AtWork("reading the results")
def run(
    study: str = Argument(
        "", help="A study or a task, as in s4-k-back or k_back, or the first digits of an id; default: the latest."
    ),
    output: Path | None = Option(None, "--output", "-o", help="File to write; - for stdout."),
    form: str | None = Option(None, "--format", help="html, md, csv, tex or json (default: html; text for a study)."),
    figures: bool = Option(False, "--figures", help="Also write every figure as PDF and PNG."),
    store: StoreFolder = RUNS,
    data: Data = None,
    root: Root = CHECKPOINTS,
) -> None:
    """Write the report of a comparison or study from its stored results; nothing is run.

    What the store does not have may have come with the program: `ordinate report s4-k-back` works at once.
    """
    from ordinate import report
    from ordinate.cli.study.report import run as report_study
    from ordinate.report.output import deliver
    from ordinate.report.terminal import show
    from ordinate.report.verdict_reason import reasons_by_task
    from ordinate.store.examples import Examples
    from ordinate.studies import study_file
    from ordinate.studies.collect import collect_stored
    from ordinate.studies.lm import study_file as lm_study_file

    form = report.format_of(form, output)
    if figures and (output is not None or form not in (None, "html")):
        raise InputError("--figures writes beside the page of the study: leave out -o and --format, or --figures")
    if study in (*study_file.names(), *lm_study_file.names()) or study.endswith(".toml"):
        if figures:
            raise InputError(f"--figures belongs to one comparison, and {study} has several: leave it out")
        report_study(study, output, form, store, data, root)
        return
    runs, kept = _find(store, study)
    comparison = collect_stored(runs, kept)
    if not comparison.analysis.tasks:
        raise InputError(f"study {comparison.id} has no finished run to report yet: go on with  {kept.again}")
    if output is None and form is None and isinstance(runs, Examples):
        show(comparison.analysis, console(), reasons_by_task(comparison))
    elif output is None and form in (None, "html"):
        say(str(report.write(comparison, kept.folder, figures=figures)))
    elif form is not None:
        deliver(report.pieces(comparison, form), output)


def _find(store: Path, name: str) -> "tuple[Store, StoredStudy]":
    """In the store, else among what comes with the program."""
    from ordinate.store import open_store
    from ordinate.store.examples import open_examples
    from ordinate.studies import study_file, study_store

    own, shipped = open_store(store), open_examples()
    if not name or study_store.has(own, name) or not study_store.has(shipped, name):
        return own, study_store.find(own, name, [*study_file.names(), *study_store.titles(shipped)])
    return shipped, study_store.find(shipped, name)
