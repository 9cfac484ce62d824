"""`ordinate store restore`: a comparison or a run back out of the bin."""

from typer import Argument

from ordinate.cli.options import RUNS, StoreFolder
from ordinate.core.errors import InputError


def run(
    names: list[str] = Argument(help="Comparisons, by name or first digits of the id, or ids of runs."),
    store: StoreFolder = RUNS,
) -> None:
    """Move deleted comparisons, with their runs, or deleted runs back into the store."""
    from ordinate.store import open_store
    from ordinate.studies import study_store
    from ordinate.studies.bin import bin_of, restore_run, restore_study

    whole = open_store(store)
    binned = bin_of(whole)
    for name in dict.fromkeys(names):
        if name and study_store.has(binned, name):
            kept = study_store.find(binned, name)
            restore_study(whole, kept)
            print(f"comparison {kept.study.id} is restored")
        elif name and any(run.id.startswith(name) for run in binned.runs()):
            run_id = binned.find(name).id
            restore_run(whole, run_id)
            print(f"run {run_id} is restored")
        else:
            raise InputError(f"no comparison and no run {name!r} in {binned.folder}: nothing was restored")
