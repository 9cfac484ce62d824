"""`ordinate store unpack`: a folder of runs from a packed file."""

import shutil
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

from typer import Argument, Option

from ordinate.cli.console import AtWork, say
from ordinate.core.display import counted
from ordinate.core.errors import InputError


@AtWork("checking and unpacking the file")
def run(
    file: Path = Argument(help="A zip file that `ordinate store pack` wrote; - for stdin."),
    store: Path = Option(Path("runs"), "--store", help="Folder to create; it must not exist yet."),
) -> None:
    """Unpack a file into a new folder of runs. The content is checked first; on any error, no folder is made."""
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
    say(f"{store}: {counted(len(made.runs()), 'run')} and {counted(len(study_store.names(made)), 'study')}")
