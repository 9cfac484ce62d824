"""`ordinate report`: a comparison that was run, as a page or as tables."""

import sys
from pathlib import Path

import typer


def run(
    study: str = typer.Argument("", help="The first digits of a study's id; without it, the one asked for last."),
    output: Path | None = typer.Option(None, "--output", "-o", help="File to write; - for stdout."),
    form: str = typer.Option("html", "--format", help="html, md, csv, tex or json."),
    figures: bool = typer.Option(False, "--figures", help="Also write every figure as PDF and PNG."),
    store: Path = typer.Option(Path("runs"), "--store", help="Folder of the runs."),
) -> None:
    """Write the report of a comparison from its stored results; nothing is run."""
    from ordinate import report
    from ordinate.core.errors import InputError
    from ordinate.store import open_store
    from ordinate.store.files import write_atomic
    from ordinate.studies import shelf
    from ordinate.studies.gather import gather
    from ordinate.studies.state import State

    report.known(form)
    runs = open_store(store)
    kept = shelf.find(runs, study)
    comparison = gather(State(kept.study, runs), kept.command)
    if not comparison.analysis.tasks:
        raise InputError(f"study {comparison.id} has no finished run to report yet: go on with  {kept.command}")
    if output is None and form == "html":
        print(report.write(comparison, kept.folder, figures=figures))
        return
    text = report.render(comparison, form)
    if output is None or str(output) == "-":
        sys.stdout.write(text)
        return
    if not output.parent.is_dir() or output.is_dir():
        why = "it is a folder" if output.is_dir() else f"there is no folder {output.parent}"
        raise InputError(f"{output} cannot be written: {why}")
    write_atomic(output, text.encode())
    print(output)
