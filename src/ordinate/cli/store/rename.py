"""`ordinate store rename`: a name and a note for a comparison."""

from typer import Argument, Option

from ordinate.cli.options import RUNS, StoreFolder
from ordinate.core.errors import InputError


def run(
    study: str = Argument(help="A comparison: its name, its task, or the first digits of its id."),
    name: str | None = Argument(None, help="The new name."),
    note: str | None = Option(None, "--note", help="A note that lists and the app show with it."),
    store: StoreFolder = RUNS,
) -> None:
    """Give a comparison a name, by which `ordinate report` finds it, and a note."""
    from ordinate.store import open_store
    from ordinate.studies import study_store

    if name is None and note is None:
        raise InputError(f"no new name for {study!r} was given: add one, or --note TEXT")
    kept = study_store.find(open_store(store), study)
    title = kept.title if name is None else name
    named = study_store.describe(kept, title, kept.note if note is None else note)
    print(f"{named.study.id}  {named.title or ', '.join(named.study.tasks)}")
