"""`ordinate store unpack`: a folder of runs from a packed file."""

import shutil
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

import typer

from ordinate.core.display import counted


def run(
    file: Path = typer.Argument(help="A zip file that `ordinate store pack` wrote; - for stdin."),
    store: Path = typer.Option(Path("runs"), "--store", help="The folder to make; it must not exist yet."),
) -> None:
    """Make a folder of runs. It appears whole and checked, or not at all; nothing in the file is trusted."""
    from ordinate.core.errors import InputError
    from ordinate.store import open_store
    from ordinate.store.unpack import unpack
    from ordinate.studies import study_store

    if str(file) == "-":
        with NamedTemporaryFile(suffix=".zip") as piped:  # a zip file is read from its end
            shutil.copyfileobj(sys.stdin.buffer, piped)
            piped.flush()
            try:
                unpack(piped.name, store)
            except InputError as error:
                raise InputError(str(error).replace(piped.name, "standard input")) from error
    else:
        unpack(file, store)
    made = open_store(store)
    print(f"{store}: {counted(len(made.runs()), 'run')} and {counted(len(study_store.names(made)), 'study')}")
