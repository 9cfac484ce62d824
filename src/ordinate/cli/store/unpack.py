"""`ordinate store unpack`: a folder of runs from a file that somebody handed on."""

from pathlib import Path

import typer


def run(
    file: Path = typer.Argument(help="A zip file that `ordinate store pack` wrote."),
    store: Path = typer.Option(Path("runs"), "--store", help="The folder to make; it must not exist yet."),
) -> None:
    """Make a folder of runs. It appears whole and checked, or not at all; nothing in the file is trusted."""
    from ordinate.store import open_store
    from ordinate.store.unpack import unpack
    from ordinate.studies import shelf

    unpack(file, store)
    made = open_store(store)
    print(f"{store}: {len(made.runs())} runs and {len(shelf.names(made))} studies")
