"""`ordinate store pack`: studies with their runs, or a whole store, as one file to hand on."""

import os
from pathlib import Path

import typer


def run(
    file: Path = typer.Argument(help="The zip file to write."),
    studies: list[str] = typer.Argument(None, metavar="[STUDY ...]", help="First digits of studies' ids; none: all."),
    store: Path = typer.Option(Path("runs"), "--store", help="Folder of the runs."),
) -> None:
    """Write a store, or some of its studies with their runs, as one file that `ordinate store unpack` reads."""
    from ordinate.core.errors import InputError
    from ordinate.store import open_store
    from ordinate.store.pack import pack
    from ordinate.studies import shelf
    from ordinate.studies.check import runs_of

    if os.path.lexists(file):
        raise InputError(f"{file} exists already: choose another name")
    whole = open_store(store)
    if not studies:
        pack(whole, file)
    else:
        kept = [shelf.find(whole, start) for start in studies]
        runs = {run for one in kept for run in runs_of(whole, one) if whole.run(run).folder.is_dir()}
        pack(whole, file, studies={one.study.id for one in kept}, runs=runs)
    print(f"{file}: {file.stat().st_size / 1e6:,.1f} MB")
