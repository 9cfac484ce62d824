"""`ordinate store pack`: studies with their runs, or a whole store, as one file."""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from typer import Argument

from ordinate.cli.console import AtWork, say
from ordinate.cli.options import RUNS, StoreFolder
from ordinate.core.errors import InputError, brief


@AtWork("packing the store")
def run(
    file: Path = Argument(help="The zip file to write; - for stdout."),
    studies: list[str] = Argument(None, metavar="[STUDY ...]", help="First digits of study ids (default: all)."),
    store: StoreFolder = RUNS,
) -> None:
    """Pack a store, or some of its studies with their runs, into one file for `ordinate store unpack`."""
    if str(file) == "-" and sys.stdout.isatty():
        raise InputError("a zip file is nothing for a terminal: name a file, or pipe it on")
    if str(file) == "-":
        with TemporaryDirectory() as folder:
            temporary = Path(folder) / "packed.zip"
            try:
                left = _pack(store, temporary, studies)
            except InputError as error:
                raise InputError(str(error).replace(str(temporary), "standard output")) from error
            with open(temporary, "rb") as packed:
                shutil.copyfileobj(packed, sys.stdout.buffer)
    elif os.path.lexists(file):
        raise InputError(f"{file} exists already: choose another name")
    else:
        left = _pack(store, file, studies)
        say(f"{file}: {file.stat().st_size / 1e6:,.1f} MB")
    for what in left:
        say(f"ordinate: left out {brief(what)}", stderr=True)


def _pack(store: Path, file: Path, studies: list[str]) -> list[str]:
    """Pack the store, or these studies; return what was left out."""
    from ordinate.store import open_store
    from ordinate.store.pack import pack
    from ordinate.studies import study_store
    from ordinate.studies.check import runs_to_pack

    whole = open_store(store)
    if not studies:
        return pack(whole, file)
    kept = [study_store.find(whole, start) for start in studies]
    runs = {run for one in kept for run in runs_to_pack(whole, one)}
    return pack(whole, file, studies={one.study.id for one in kept}, runs=runs)
